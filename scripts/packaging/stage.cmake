# Run by cpack between installing below its staging folder and packing that: what only a package has.
set(top ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(here ${CPACK_ORDERD_SOURCE}/scripts/packaging)
set(doc ${top}/usr/share/doc/orderd)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(compress) # without the time of day
  run(gzip -9 -n -f ${ARGV})
endfunction()

file(GLOB pages ${top}/usr/share/man/man*/*)
if(NOT pages)
  message(FATAL_ERROR "There are no manual pages to be packaged: install scdoc and build again")
endif()
compress(${pages})

foreach(program sbin/orderd bin/orderctl bin/orderload)
  run(${CPACK_ORDERD_OBJCOPY} --remove-section=.comment ${top}/usr/${program})
endforeach()

if(CPACK_GENERATOR STREQUAL "DEB") # which moves what helps a debugger into a package of its own
  file(COPY_FILE ${here}/debian/changelog ${doc}/changelog.Debian)
  compress(${doc}/changelog.Debian)
  file(COPY_FILE ${here}/debian/copyright ${doc}/copyright)
  file(MAKE_DIRECTORY ${top}/usr/share/lintian/overrides)
  file(COPY_FILE ${here}/debian/lintian-overrides ${top}/usr/share/lintian/overrides/orderd)
  file(RENAME ${top}/usr/share/zsh/site-functions ${top}/usr/share/zsh/vendor-completions)
else()
  foreach(program sbin/orderd bin/orderctl bin/orderload)
    run(${CPACK_ORDERD_OBJCOPY} --strip-unneeded ${top}/usr/${program})
  endforeach()
  file(MAKE_DIRECTORY ${top}/usr/share/licenses/orderd)
  file(COPY_FILE ${CPACK_ORDERD_SOURCE}/LICENSE ${top}/usr/share/licenses/orderd/LICENSE)
endif()
run(chmod -R go-w,a+rX ${top})
