# FindLibtorch.cmake - where is libtorch? Sets TORCH_FOUND_IN (a folder, or empty), TORCH_VERSION, TORCH_INCLUDE_DIRS, TORCH_LIBRARIES (paths)
# and TORCH_MISSING (why there is none).
#
# Looked for in this order: Torch_DIR (the folder of TorchConfig.cmake, or the root of an unpacked libtorch or of a torch wheel), the torch
# package of python3, the system's (Debian: libtorch-dev). find_package(Torch) is not used: it wants every library that torch was built
# with, also those of which only the loader has need.

set(candidates)
if(Torch_DIR)
  list(APPEND candidates "${Torch_DIR}" "${Torch_DIR}/../../..")
else()
  find_program(BURN_PYTHON NAMES python3 python)
  if(BURN_PYTHON)
    # find_spec does not import, which would take seconds.
    execute_process(COMMAND "${BURN_PYTHON}" -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0])"
      OUTPUT_VARIABLE python_torch ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE TIMEOUT 20)
    if(python_torch)
      list(APPEND candidates "${python_torch}")
    endif()
  endif()
  list(APPEND candidates /usr /usr/local)
endif()

set(TORCH_FOUND_IN "")
set(TORCH_MISSING "no libtorch with headers in: ${candidates}")
foreach(root ${candidates})
  # A cached answer of an earlier Torch_DIR must not win.
  unset(torch_header CACHE)
  unset(torch_cpu CACHE)
  unset(torch_c10 CACHE)
  find_path(torch_header ATen/core/Tensor.h PATHS "${root}" PATH_SUFFIXES include NO_DEFAULT_PATH)
  find_library(torch_cpu torch_cpu PATHS "${root}" PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} lib/x86_64-linux-gnu NO_DEFAULT_PATH)
  find_library(torch_c10 c10 PATHS "${root}" PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} lib/x86_64-linux-gnu NO_DEFAULT_PATH)
  if(torch_header AND torch_cpu AND torch_c10)
    get_filename_component(TORCH_FOUND_IN "${torch_cpu}" DIRECTORY)
    break()
  endif()
endforeach()
if(NOT TORCH_FOUND_IN)
  return()
endif()

set(TORCH_VERSION "?")
foreach(file torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(TORCH_VERSION STREQUAL "?" AND EXISTS "${torch_header}/${file}")
    file(STRINGS "${torch_header}/${file}" lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    string(REPLACE ";" "." numbers "${numbers}")
    if(numbers)
      set(TORCH_VERSION "${numbers}")
    endif()
  endif()
endforeach()
set(TORCH_INCLUDE_DIRS "${torch_header}")
set(TORCH_LIBRARIES "${torch_cpu}" "${torch_c10}")
# With CUDA: nothing of ours calls these, but they must be loaded for ATen to have its CUDA kernels.
foreach(name torch_cuda c10_cuda)
  unset(torch_${name} CACHE)
  find_library(torch_${name} ${name} PATHS "${TORCH_FOUND_IN}" NO_DEFAULT_PATH)
  if(torch_${name})
    list(APPEND TORCH_LIBRARIES "${torch_${name}}")
  endif()
endforeach()
