# Run by `cmake --install`: the units with the paths of this prefix, their user, and a configuration file where there is
# none yet. /usr and /usr/local share /etc, which is where the programs look by themselves; any other prefix keeps to
# itself.
set(prefix ${CMAKE_INSTALL_PREFIX})
set(sysconf_dir ${prefix}/etc)
set(unit_dir ${prefix}/lib/systemd/system)
if(prefix MATCHES "^/usr(/local)?$")
  set(sysconf_dir /etc)
endif()

file(READ ${source_dir}/systemd/sandbox.in sandbox)
string(CONFIGURE "${sandbox}" sandbox @ONLY)

function(install_made template path)
  configure_file(${source_dir}/systemd/${template} $ENV{DESTDIR}${path} @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  message(STATUS "Installed: $ENV{DESTDIR}${path}")
endfunction()

# One process without a name, or any number of named ones below the target.
set(wanted_by multi-user.target)
install_made(orderd.service.in ${unit_dir}/orderd.service)
set(of_replica ", replica %i")
set(instance " --instance=%i")
set(part_of "PartOf=orderd.target\n")
# By both: the target alone would not be there at boot unless somebody enabled it too.
set(wanted_by "multi-user.target orderd.target")
install_made(orderd.service.in ${unit_dir}/orderd@.service)
install_made(orderd-reconcile.service.in ${unit_dir}/orderd-reconcile.service)
file(INSTALL ${source_dir}/systemd/orderd.target ${source_dir}/systemd/orderd.slice
  ${source_dir}/systemd/orderd-reconcile.timer DESTINATION ${unit_dir})
install_made(sysusers.conf ${prefix}/lib/sysusers.d/orderd.conf)

# What older systemd does not know lies where nothing reads it, unless this is for a newer one.
install_made(newer.conf.in ${prefix}/share/orderd/systemd/50-newer.conf)
if(systemd_version GREATER_EQUAL 254)
  install_made(newer.conf.in ${unit_dir}/orderd.service.d/50-newer.conf)
  install_made(newer.conf.in ${unit_dir}/orderd@.service.d/50-newer.conf)
endif()

# A configuration that somebody has written is never touched.
if(EXISTS $ENV{DESTDIR}${sysconf_dir}/orderd/orderd.conf)
  message(STATUS "Kept: $ENV{DESTDIR}${sysconf_dir}/orderd/orderd.conf")
else()
  file(INSTALL ${source_dir}/config/orderd.conf DESTINATION ${sysconf_dir}/orderd)
endif()
