# The Lua scripts, byte for byte, as C strings in the binary and as files for web tiers in other languages: both must
# have the same SHA1 in the server's script cache. Included by src/CMakeLists.txt, and run again by the build
# (cmake -P) to turn one script into one source file.
#
#   stock_embed(OUTPUT_LIST)   the generated sources, one for each row of include/orderd/tbl/script.h

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${LUA} bytes HEX)
  get_filename_component(name ${LUA} NAME_WE)
  string(REGEX MATCH "^([0-9a-f][0-9a-f])*(00|[89a-f][0-9a-f])" foreign "${bytes}")
  if(foreign)
    message(FATAL_ERROR "${LUA}: holds a byte that is not plain ASCII")
  endif()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x..,){20})" "\\1\n" bytes "${bytes}")
  file(WRITE ${OUT} "/* Made from ${name}.lua. */\nextern const char stock_lua_${name}[];\n"
    "const char stock_lua_${name}[] = {\n${bytes}0};\n")
  return()
endif()

set(stock_lua_dir ${CMAKE_CURRENT_LIST_DIR})

function(stock_embed output_list)
  set(table ${PROJECT_SOURCE_DIR}/include/orderd/tbl/script.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} rows REGEX "^X\\(")
  set(generated "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE ".*, *([a-z_]+)\\).*" "\\1" name "${row}")
    set(lua ${stock_lua_dir}/${name}.lua)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/stock_lua_${name}.c)
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DLUA=${lua} -DOUT=${out} -P ${stock_lua_dir}/embed.cmake
      DEPENDS ${lua} ${stock_lua_dir}/embed.cmake VERBATIM)
    list(APPEND generated ${out})
    install(FILES ${lua} DESTINATION ${CMAKE_INSTALL_DATADIR}/orderd/lua)
  endforeach()
  set(${output_list} ${generated} PARENT_SCOPE)
endfunction()
