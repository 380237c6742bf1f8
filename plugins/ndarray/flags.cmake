# flags.cmake - how the sources of ndarray are compiled: by classes of flags, of which each folder names its own.
#
#   burn_ndarray_sources(file... FLAGS class...)                      files that are compiled once
#   burn_ndarray_loops(family... BASELINE class... VECTORS class... AVX2 class...)
#                                                                     families of loops, once per instruction set:
#                                                                     ndarray_<family>_{baseline,avx2,avx512}.c include one text;
#                                                                     AVX2 has its classes beside those of all vectors
#
# Classes are options, added in the order in which they are named; families of loops have `loops` already.
#
#   cold     once per device, or per fused body: small
#   vector   gains by vector code
#   loops    the same, for floats: selects may become masks (no errno, no traps)
#   rolled   nothing peeled, what is left over after whole vectors is a loop: half as large. Loops element by element are as
#            fast; rows and tiles, whose accumulators have to become registers, want long loops unrolled
#   short    of -O3 nothing but vectors and inlining
#   tiles    vectors are written out in the source
#   sums     tiles of integers: clang with sanitizers needs more than five minutes for a file, unless it optimizes nothing
#   tiny     as small as can be; packed: in functions without gaps between them
#   chains   long chains of operations are computed side by side (ND_SIDE_BY_SIDE): independent ones take turns

# -Wno-pass-failed: clang need not say that loops over libm calls stay scalar. Short arrays of accumulators are cleared by vector stores
# instead of a string instruction that takes longer than the loop after it. With clang's sanitizers -O1: instrumented loops are no faster
# with more, and clang needs six minutes and more for a file of them.
set(ndarray_loop_level -O3)
if(BURN_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(ndarray_loop_level -O1)
endif()
set(ndarray_flags_vector -O3)
set(ndarray_flags_loops ${ndarray_loop_level} -fno-math-errno -fno-trapping-math $<$<C_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>
  $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
foreach(class cold rolled short tiles sums tiny packed peeled epilogues digits chains)
  set(ndarray_flags_${class})
endforeach()
if(BURN_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(ndarray_flags_sums -O0)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  include(CheckCCompilerFlag)
  check_c_compiler_flag(--param=vect-epilogues-nomask=0 BURN_HAS_EPILOGUE_PARAMETER)
  set(ndarray_flags_cold $<$<NOT:$<CONFIG:Debug>>:-Os>)
  set(ndarray_flags_rolled --param=max-completely-peel-times=4 -fno-unswitch-loops)
  if(BURN_HAS_EPILOGUE_PARAMETER)
    list(APPEND ndarray_flags_rolled --param=vect-epilogues-nomask=0)
    set(ndarray_flags_epilogues --param=vect-epilogues-nomask=1)
  endif()
  set(ndarray_flags_short -O2 -ftree-vectorize -fvect-cost-model=dynamic --param=max-inline-insns-auto=30
    --param=max-inline-insns-single=200 --param=inline-min-speedup=15)
  set(ndarray_flags_tiles -O2 -fno-tree-vectorize)
  set(ndarray_flags_tiny -Os -fno-tree-vectorize)
  set(ndarray_flags_packed -O2 -fno-tree-vectorize -falign-functions=1 -falign-loops=1 -falign-jumps=1)
  set(ndarray_flags_peeled -fpeel-loops)
  set(ndarray_flags_chains -fschedule-insns -fsched-pressure)
  set(ndarray_flags_digits --param=max-completely-peel-times=8)
endif()

# Windows aligns the stack to 16 bytes only, which GCC forgets for wider vectors in memory.
if(MINGW AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(ndarray_wide_stack -Wa,-muse-unaligned-vector-move)
endif()
set(ndarray_isa_baseline)
set(ndarray_isa_avx2 -march=x86-64-v3 ${ndarray_wide_stack})
# GCC puts locals of 64 bytes where its address sanitizer looks for uses after return, aligned to 32 only (GCC bug 110027, mended in 14).
if(BURN_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(ndarray_short_frames --param=asan-use-after-return=0)
endif()
set(ndarray_isa_avx512 -march=x86-64-v4 -mprefer-vector-width=512 ${ndarray_wide_stack} ${ndarray_short_frames})

# Sources of this folder, with the options of their classes; the target lives in the folder above.
function(burn_ndarray_add files classes)
  set(options ${ARGN})
  foreach(class ${classes})
    list(APPEND options ${ndarray_flags_${class}})
  endforeach()
  target_sources(burn_ndarray PRIVATE ${files})
  set_source_files_properties(${files} TARGET_DIRECTORY burn_ndarray PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

function(burn_ndarray_sources)
  cmake_parse_arguments(PARSE_ARGV 0 add "" "" "FLAGS")
  burn_ndarray_add("${add_UNPARSED_ARGUMENTS}" "${add_FLAGS}" ${BURN_CALL_OPTIONS})
endfunction()

# Where there are variants, the baseline is for CPUs older than 2013, and what the others have no loop for: only then it is small.
function(burn_ndarray_loops)
  cmake_parse_arguments(PARSE_ARGV 0 add "" "" "BASELINE;VECTORS;AVX2")
  foreach(family ${add_UNPARSED_ARGUMENTS})
    if(BURN_NDARRAY_X86_VARIANTS)
      burn_ndarray_add(ndarray_${family}_baseline.c "loops;${add_BASELINE}")
      burn_ndarray_add(ndarray_${family}_avx2.c "loops;${add_VECTORS};${add_AVX2}" ${ndarray_isa_avx2})
      burn_ndarray_add(ndarray_${family}_avx512.c "loops;${add_VECTORS}" ${ndarray_isa_avx512})
    else()
      burn_ndarray_add(ndarray_${family}_baseline.c loops)
    endif()
  endforeach()
endfunction()
