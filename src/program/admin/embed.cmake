# The files of the live page, byte for byte, each with an entity tag made from its content, so that a browser fetches one
# again only after an upgrade. Included by src/CMakeLists.txt, and run again by the build (cmake -P) to turn one file into
# one source file.
#
#   admin_embed(OUTPUT_LIST)   the generated sources, one for each row of include/orderd/tbl/admin_file.h

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FILE} bytes HEX)
  file(SHA256 ${FILE} sum)
  string(SUBSTRING ${sum} 0 16 sum)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(REGEX REPLACE "(('.x..',){16})" "\\1\n" bytes "${bytes}")
  get_filename_component(from ${FILE} NAME)
  file(WRITE ${OUT} "/* Made from ${from}. */\n#include <stddef.h>\n"
    "extern const char admin_file_${NAME}_data[], admin_file_${NAME}_etag[];\n"
    "extern const size_t admin_file_${NAME}_len;\n"
    "const char admin_file_${NAME}_data[] = {\n${bytes}0};\n"
    "const size_t admin_file_${NAME}_len = sizeof admin_file_${NAME}_data - 1;\n"
    "const char admin_file_${NAME}_etag[] = \"\\\"${sum}\\\"\";\n")
  return()
endif()

set(admin_embed_dir ${CMAKE_CURRENT_LIST_DIR})

function(admin_embed output_list)
  set(table ${PROJECT_SOURCE_DIR}/include/orderd/tbl/admin_file.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} rows REGEX "^X\\(")
  set(generated "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^X\\(([a-z_]+),.*" "\\1" name "${row}")
    string(REGEX REPLACE ".*, *\"([a-z_.]+)\"\\).*" "\\1" file "${row}")
    set(file ${admin_embed_dir}/page/${file})
    set(out ${CMAKE_CURRENT_BINARY_DIR}/admin_file_${name}.c)
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DNAME=${name} -DOUT=${out} -P ${admin_embed_dir}/embed.cmake
      DEPENDS ${file} ${admin_embed_dir}/embed.cmake VERBATIM)
    list(APPEND generated ${out})
  endforeach()
  set(${output_list} ${generated} PARENT_SCOPE)
endfunction()
