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

file(READ ${source_dir}/systemd/sandbox.in sandbox)
string(CONFIGURE "${sandbox}" sandbox @ONLY)

function(install_unit template name)
  configure_file(${source_dir}/systemd/${template} $ENV{DESTDIR}${unit_dir}/${name} @ONLY)
  message(STATUS "Installed: $ENV{DESTDIR}${unit_dir}/${name}")
endfunction()

# One process without a name, or any number of named ones below the target.
set(wanted_by multi-user.target)
install_unit(orderd.service.in orderd.service)
set(of_replica ", replica %i")
set(instance " --instance=%i")
set(part_of "PartOf=orderd.target\n")
set(wanted_by orderd.target)
install_unit(orderd.service.in orderd@.service)
install_unit(orderd-reconcile.service.in orderd-reconcile.service)
file(INSTALL ${source_dir}/systemd/orderd.target ${source_dir}/systemd/orderd.slice
  ${source_dir}/systemd/orderd-reconcile.timer DESTINATION ${unit_dir})

# A configuration that somebody has written is never touched.
if(EXISTS $ENV{DESTDIR}${sysconf_dir}/orderd/orderd.conf)
  message(STATUS "Kept: $ENV{DESTDIR}${sysconf_dir}/orderd/orderd.conf")
else()
  file(INSTALL ${source_dir}/config/orderd.conf DESTINATION ${sysconf_dir}/orderd)
endif()
