# Run by `cmake --install`: the units with the paths of this prefix, and a configuration file where there is none yet.
# /usr and /usr/local share /etc, which is where the programs look by themselves; any other prefix keeps to itself.
set(prefix ${CMAKE_INSTALL_PREFIX})
set(sysconf_dir ${prefix}/etc)
set(unit_dir ${prefix}/lib/systemd/system)
if(prefix MATCHES "^/usr(/local)?$")
  set(sysconf_dir /etc)
endif()
if(prefix STREQUAL "/usr")
  set(unit_dir /lib/systemd/system)
endif()

configure_file(${source_dir}/systemd/orderd@.service.in $ENV{DESTDIR}${unit_dir}/orderd@.service @ONLY)
file(INSTALL ${source_dir}/systemd/orderd.target ${source_dir}/systemd/orderd.slice DESTINATION ${unit_dir})
message(STATUS "Installed: $ENV{DESTDIR}${unit_dir}/orderd@.service")

# A configuration that somebody has written is never touched.
if(EXISTS $ENV{DESTDIR}${sysconf_dir}/orderd/orderd.conf)
  message(STATUS "Kept: $ENV{DESTDIR}${sysconf_dir}/orderd/orderd.conf")
else()
  file(INSTALL ${source_dir}/config/orderd.conf DESTINATION ${sysconf_dir}/orderd)
endif()
