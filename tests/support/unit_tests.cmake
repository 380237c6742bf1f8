# unit_tests.cmake - how the programs of tests/unit are made; included by tests/CMakeLists.txt.
#
# A folder's CMakeLists.txt names what single tests need beyond the others, one line each, and then adds all of them:
#
#   burn_test_needs(stack_test LOADING PLUGINS mini)
#   burn_add_unit_tests(core)
#
# Every <name>_test.c of the folder is then a program and a CTest test of that name, with the folder's name as its label. The needs:
#
#   LOADING                  it loads plugin files, or brings a list of linked-in plugins: left out of static builds
#   NOT_ON_WINDOWS <reason>  left out there
#   PLUGINS <name>..         plugins of tests/plugins that are built first
#   PROGRAMS <target>..      other targets that are built first
#   CXX                      one of its SOURCES is in C++: left out where there is no compiler for it
#   LEFT_OUT                 what it needs is not here, as its folder has said
#   COMPILER                 it runs the compiler: BURN_TEST_COMPILER and BURN_TEST_COMPILER_FLAGS
#   OWN_MALLOC               its malloc is everybody's: the program exports its symbols
#   OWN_LINES                it looks for lines of its own source: compiled with -g
#   GUARDS                   it runs a second time with guards on handles, as <name>_with_guards
#   SOURCES <file>..         compiled into it
#   FOLDERS <folder>..       where it finds headers
#   DEFINITIONS <name=value>..
#   LIBRARIES <target>..
#
# A test that includes test_stacks.h, or a header of support/ that does, is registered once per stack, as "<name> on <stack>" with the label
# "on <stack>": ops_<family>_test for each of BURN_TEST_STACKS, tests of nn with nn_testing.h for each of BURN_NN_TEST_STACKS, the others for
# stacks of their own in one test; all for those of the environment variable BURN_TEST_STACKS where ctest finds it (stacks.cmake).
set(BURN_TEST_STACKS "ndarray;ndarray:primitives=true;ndarray:isa=baseline,gemm=builtin;ndarray:isa=avx2,gemm=builtin;autodiff<ndarray>;\
autodiff<ndarray> tracked;fusion<ndarray> plain;autodiff<fusion<ndarray>> tracked plain;validate:finite=false,determinism=true<ndarray> plain;\
reference plain;autodiff<reference> tracked plain" CACHE STRING "stacks that the golden rows of the ops run on; see tests/support/test_stacks.h")
if(NOT DEFINED BURN_NN_TEST_STACKS) # not in the cache: libtorch may come later
  set(BURN_NN_TEST_STACKS "ndarray;autodiff<fusion<ndarray>> plain")
  if(TARGET burn_torch AND NOT BURN_SANITIZE) # the leak checker crashes beside libtorch's threads
    string(APPEND BURN_NN_TEST_STACKS ";torch:cpu plain")
  endif()
endif()

# Programs on Windows lie beside libburn.dll, where the loader finds it, and wine (windows/mingw.cmake) sees this machine's folders as drive Z.
set(test_folder ${CMAKE_BINARY_DIR}/tests)
set(path_prefix "")
set(emulator "")
if(WIN32)
  set(test_folder ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  if(CMAKE_CROSSCOMPILING)
    set(path_prefix "Z:")
    set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
  endif()
endif()
set(test_definitions BURN_SOURCE_DIR="${path_prefix}${CMAKE_SOURCE_DIR}" BURN_BUILD_DIR="${path_prefix}${CMAKE_BINARY_DIR}"
  BURN_PLUGIN_SUFFIX="${CMAKE_SHARED_MODULE_SUFFIX}" BURN_DATA_DIR="${path_prefix}${BURN_DATA_DIR}"
  $<$<BOOL:${BURN_STATIC}>:BURN_TEST_STATIC> $<$<BOOL:${BURN_CROSS_CPU}>:BURN_TEST_EMULATOR="${BURN_QEMU}">)
# Emulated processors take ten times as long.
set(test_timeout 600)
if(BURN_CROSS_CPU)
  set(test_timeout 3600)
endif()
# What is tuned in a test stays out of the user's cache.
set(test_environment "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/cache")

# burn_test_needs(NAME NEEDS..): before burn_add_unit_tests.
macro(burn_test_needs name)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c)
    message(FATAL_ERROR "burn_test_needs: there is no ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c")
  endif()
  set(needs_of_${name} ${ARGN})
endmacro()

# What a program needs of the build, beyond its libraries.
function(burn_meet_test_needs name)
  if(need_PLUGINS)
    list(TRANSFORM need_PLUGINS PREPEND test_plugin_)
    add_dependencies(${name} ${need_PLUGINS})
  endif()
  if(need_PROGRAMS)
    add_dependencies(${name} ${need_PROGRAMS})
  endif()
  if(need_COMPILER)
    set(flags "${CMAKE_C_FLAGS}")
    if(BURN_CROSS_CPU) # where libraries and the loader are
      string(APPEND flags " ${CMAKE_EXE_LINKER_FLAGS}")
    endif()
    if(BURN_SANITIZE)
      string(APPEND flags " -fsanitize=${BURN_SANITIZE}")
    endif()
    target_compile_definitions(${name} PRIVATE BURN_TEST_COMPILER="${CMAKE_C_COMPILER}" BURN_TEST_COMPILER_FLAGS="${flags}")
  endif()
  if(need_OWN_LINES)
    target_compile_options(${name} PRIVATE -g)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${test_folder} ENABLE_EXPORTS "${need_OWN_MALLOC}")
endfunction()

# burn_add_unit_test(SOURCE): one program, and its test.
function(burn_add_unit_test source)
  get_filename_component(name ${source} NAME_WE)
  cmake_parse_arguments(need "LOADING;CXX;LEFT_OUT;COMPILER;OWN_MALLOC;OWN_LINES;GUARDS" "NOT_ON_WINDOWS"
    "PLUGINS;PROGRAMS;SOURCES;FOLDERS;DEFINITIONS;LIBRARIES" ${needs_of_${name}})
  if(need_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "burn_test_needs: ${name}: unknown: ${need_UNPARSED_ARGUMENTS}")
  endif()
  if(need_LEFT_OUT OR (BURN_STATIC AND need_LOADING) OR (WIN32 AND need_NOT_ON_WINDOWS) OR (need_CXX AND NOT CMAKE_CXX_COMPILER))
    return()
  endif()
  add_executable(${name} ${source} ${need_SOURCES})
  target_include_directories(${name} PRIVATE ${need_FOLDERS})
  target_compile_definitions(${name} PRIVATE ${test_definitions} ${need_DEFINITIONS})
  target_link_libraries(${name} PRIVATE ${need_LIBRARIES} burn_test_support burn burn_nn burn_train burn_options PkgConfig::CMOCKA PkgConfig::CJSON
    Threads::Threads ZLIB::ZLIB m)
  burn_meet_test_needs(${name})
  file(STRINGS ${source} includes REGEX "^#include \"(ops_golden|test_stacks|nn_testing|nn_gradients)\\.h\"")
  if(includes)
    set_property(GLOBAL APPEND PROPERTY BURN_STACK_TESTS ${name})
    set(stacks "")
    if(includes MATCHES ops_golden)
      set(stacks "${BURN_TEST_STACKS}")
    elseif(includes MATCHES "nn_")
      set(stacks "${BURN_NN_TEST_STACKS}")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY BURN_STACK_TESTS_TEXT "set(program_${name} ${emulator} [==[$<TARGET_FILE:${name}>]==])
set(label_${name} \"${test_label}\")
set(stacks_${name} [==[${stacks}]==])
")
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${test_timeout} LABELS "${test_label}" ENVIRONMENT "${test_environment}")
  if(need_GUARDS)
    add_test(NAME ${name}_with_guards COMMAND ${name})
    set_tests_properties(${name}_with_guards PROPERTIES TIMEOUT ${test_timeout} LABELS "${test_label}"
      ENVIRONMENT "${test_environment};BURN_GUARDS=1;BURN_LOG=error")
  endif()
endfunction()

# burn_add_unit_tests(LABEL): every *_test.c of this folder.
function(burn_add_unit_tests test_label)
  file(GLOB sources CONFIGURE_DEPENDS *_test.c)
  foreach(source ${sources})
    burn_add_unit_test(${source})
  endforeach()
endfunction()

# burn_register_stack_tests(): after all folders.
function(burn_register_stack_tests)
  get_property(names GLOBAL PROPERTY BURN_STACK_TESTS)
  get_property(text GLOBAL PROPERTY BURN_STACK_TESTS_TEXT)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/stack_tests.cmake CONTENT "set(burn_stack_tests ${names})
set(burn_test_environment [==[${test_environment}]==])
${text}include([==[${BURN_TESTS_DIR}/support/stacks.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/stack_tests.cmake)
endfunction()
