# bench.cmake - burn bench: the sources in this folder become a part of burn_command.
set(bench_folder ${CMAKE_CURRENT_SOURCE_DIR}/burn/bench)
file(GLOB bench_sources CONFIGURE_DEPENDS ${bench_folder}/*.c ${bench_folder}/models/*.c)

# Loops that measure the machine are compiled once per instruction set.
set_source_files_properties(${bench_folder}/limits_baseline.c PROPERTIES COMPILE_OPTIONS "-O2;-ffp-contract=fast")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set_source_files_properties(${bench_folder}/limits_avx2.c PROPERTIES COMPILE_OPTIONS "-O2;-march=x86-64-v3;-ffp-contract=fast")
  set_source_files_properties(${bench_folder}/limits_avx512.c PROPERTIES COMPILE_OPTIONS
    "-O2;-march=x86-64-v4;-mprefer-vector-width=512;-ffp-contract=fast")
else()
  list(REMOVE_ITEM bench_sources ${bench_folder}/limits_avx2.c ${bench_folder}/limits_avx512.c)
endif()
# The models of the guide and of WGAN-GP are those of the examples.
target_sources(burn_command PRIVATE ${bench_sources} ${CMAKE_CURRENT_SOURCE_DIR}/examples/mnist/model.c
  ${CMAKE_CURRENT_SOURCE_DIR}/examples/wgan/wgan_model.c)
target_compile_definitions(burn_command PRIVATE BURN_COMMAND_BENCH=1)

# The peers lie at the same place beside the command here and installed.
foreach(peer peer_torch.py peer_onnx.py)
  configure_file(${bench_folder}/${peer} ${CMAKE_BINARY_DIR}/share/burn/bench/${peer} COPYONLY)
  install(FILES ${bench_folder}/${peer} DESTINATION share/burn/bench)
endforeach()
