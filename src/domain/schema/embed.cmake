# The migrations of sql/ in the binary, each with its number and the SHA-256 of its file. Included by src/CMakeLists.txt, and
# run again by the build (cmake -P) to write the source.
#
#   schema_embed(OUTPUT_LIST)   the generated source

if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files ${SQL_DIR}/[0-9][0-9][0-9][0-9]_*.sql)
  list(SORT files)
  set(rows "")
  set(count 0)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX MATCH "^[0-9]+" number ${name})
    math(EXPR number "1${number} - 10000")
    file(SHA256 ${file} checksum)
    file(READ ${file} sql)
    string(REPLACE "\\" "\\\\" sql "${sql}")
    string(REPLACE "\"" "\\\"" sql "${sql}")
    string(REPLACE "\n" "\\n\"\n     \"" sql "${sql}")
    string(APPEND rows "    {${number}, \"${name}\",\n     \"${checksum}\",\n     \"${sql}\"},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(WRITE ${OUT} "/* Made from sql/. */\n#include \"orderd/schema.h\"\n\n"
    "extern const struct schema_migration schema_embedded[];\nextern const size_t schema_embedded_count;\n\n"
    "const struct schema_migration schema_embedded[] = {\n${rows}};\n\n"
    "const size_t schema_embedded_count = ${count};\n")
  return()
endif()

set(schema_embed_script ${CMAKE_CURRENT_LIST_FILE})

function(schema_embed output_list)
  set(sql_dir ${PROJECT_SOURCE_DIR}/sql)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/schema_embedded.c)
  file(GLOB files CONFIGURE_DEPENDS ${sql_dir}/*.sql)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DSQL_DIR=${sql_dir} -DOUT=${out} -P ${schema_embed_script}
    DEPENDS ${files} ${schema_embed_script} VERBATIM)
  install(FILES ${files} DESTINATION ${CMAKE_INSTALL_DATADIR}/orderd/sql)
  set(${output_list} ${out} PARENT_SCOPE)
endfunction()
