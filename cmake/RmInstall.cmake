# cmake --install BUILD --prefix P [--component controller|worker|cli|cuda|doc]: the tree that deploy/package ships.
# Programs keep the libraries of the machine that built them; deploy/package adds these and makes paths relative.

# rm_install_programs(component name ...): those that this build has.
function(rm_install_programs component)
  foreach(name ${ARGN})
    if(TARGET ${name})
      install(PROGRAMS $<TARGET_FILE:${name}> DESTINATION bin COMPONENT ${component})
    endif()
  endforeach()
endfunction()

# rm_install_files(component destination pattern ...): what exists of it; folders with all that is in them.
function(rm_install_files component destination)
  foreach(pattern ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${pattern}")
    foreach(path ${found})
      if(IS_DIRECTORY "${path}")
        install(DIRECTORY "${path}" DESTINATION ${destination} USE_SOURCE_PERMISSIONS COMPONENT ${component}
                PATTERN __pycache__ EXCLUDE PATTERN .gitignore EXCLUDE PATTERN tests EXCLUDE)
      else()
        install(FILES "${path}" DESTINATION ${destination} COMPONENT ${component})
      endif()
    endforeach()
  endforeach()
endfunction()

rm_install_programs(controller ringmaster-controller)
rm_install_programs(worker ringmaster-worker ring-train ring-checkpoint ring-bench ring-arena)
rm_install_programs(cli ringmaster)
if(TARGET rm_cuda)
  install(FILES $<TARGET_FILE:rm_cuda> DESTINATION lib COMPONENT cuda)
endif()

rm_install_files(controller lib/systemd/system deploy/systemd/ringmaster-controller.*)
rm_install_files(worker lib/systemd/system deploy/systemd/ringmaster-worker.* deploy/systemd/ringmaster-ranks.*)
foreach(component controller worker)
  rm_install_files(${component} lib/sysusers.d deploy/systemd/ringmaster.conf deploy/systemd/sysusers.d/ringmaster.conf)
endforeach()

set(share share/ringmaster)
rm_install_files(worker ${share} bench/kernels/peer_torch.py)
rm_install_files(cli ${share}/dashboards/grafana dashboards/grafana/ringmaster-*.json dashboards/grafana/provisioning)
rm_install_files(cli ${share}/dashboards dashboards/prometheus)
rm_install_files(cli ${share} ansible examples)
rm_install_files(cli ${share}/slurm deploy/slurm/*)
rm_install_files(cli ${share}/kubernetes deploy/kubernetes/*)
rm_install_files(doc share/doc/ringmaster docs/*)

# Pages of the manual and completions come from the programs themselves.
if(TARGET ringmaster)
  foreach(component controller worker cli)
    install(CODE "set(RM_COMPONENT ${component})
set(RM_PROGRAM \"$<TARGET_FILE:ringmaster>\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install_pages.cmake\")" COMPONENT ${component})
  endforeach()
endif()
