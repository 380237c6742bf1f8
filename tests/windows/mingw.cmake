# mingw.cmake - toolchain file: Burn for 64-bit Windows by mingw-w64 on Linux, programs run by wine.
#
#   -DBURN_WINDOWS_PREFIX=FOLDER   where dependencies.sh has put cJSON, msgpack-c and cmocka
#
# The posix variant of the compiler is the one whose C11 threads and pthreads work.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)

# Headers, libraries and packages are those for Windows, never this machine's; programs are this machine's.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BURN_WINDOWS_PREFIX)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 "${BURN_WINDOWS_PREFIX}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${BURN_WINDOWS_PREFIX}/lib/pkgconfig:/usr/x86_64-w64-mingw32/lib/pkgconfig")
set(ZLIB_USE_STATIC_LIBS ON)

find_program(BURN_WINE NAMES wine wine64)
if(BURN_WINE) # with a Windows folder of its own, which nobody else's programs see
  set(CMAKE_CROSSCOMPILING_EMULATOR env WINEPREFIX=${CMAKE_BINARY_DIR}/wine WINEDEBUG=-all ${BURN_WINE})
endif()
