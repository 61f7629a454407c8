# Read by cpack for each kind of package, after what CMakeLists.txt has set.

# Folders that belong to other packages.
if(CPACK_GENERATOR STREQUAL "RPM")
  set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /usr/sbin /usr/lib/systemd /usr/lib/systemd/system
    /usr/lib/sysusers.d /usr/share/man /usr/share/man/man1 /usr/share/man/man5 /usr/share/man/man7 /usr/share/man/man8
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions
    /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/licenses)
endif()
