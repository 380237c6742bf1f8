# linux.cmake - toolchain file: Burn for Linux on another processor, by Debian's cross compiler, programs run by qemu-user.
#
#   -DBURN_CROSS_CPU=aarch64|arm       the processor; arm is the 32-bit one of Debian's armhf
#   -DBURN_CROSS_PREFIX=FOLDER         where dependencies.sh has unpacked the libraries for it
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${BURN_CROSS_CPU})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BURN_CROSS_CPU BURN_CROSS_PREFIX)
if(BURN_CROSS_CPU STREQUAL "aarch64")
  set(triplet aarch64-linux-gnu)
  set(loader ld-linux-aarch64.so.1)
elseif(BURN_CROSS_CPU STREQUAL "arm")
  set(triplet arm-linux-gnueabihf)
  set(loader ld-linux-armhf.so.3)
else()
  message(FATAL_ERROR "BURN_CROSS_CPU is '${BURN_CROSS_CPU}'; it is aarch64 or arm")
endif()
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)

# Headers, libraries and packages are those for that processor, never this machine's; programs are this machine's.
set(CMAKE_FIND_ROOT_PATH /usr/${triplet} "${BURN_CROSS_PREFIX}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${BURN_CROSS_PREFIX}")
set(ENV{PKG_CONFIG_LIBDIR} "${BURN_CROSS_PREFIX}/usr/lib/${triplet}/pkgconfig:${BURN_CROSS_PREFIX}/usr/share/pkgconfig")

# Programs name the loader and the libraries where they lie on this machine. With `qemu -L FOLDER` instead, opening "/" would open FOLDER, and
# libburn refuses plugins when the walk from "/" to them (core/base/trust_posix.c) does not end where they are.
set(libraries "${BURN_CROSS_PREFIX}/usr/lib/${triplet}:${BURN_CROSS_PREFIX}/lib/${triplet}:/usr/${triplet}/lib")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,-rpath,${libraries},-rpath-link,${libraries}")
endforeach()
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--dynamic-linker,/usr/${triplet}/lib/${loader}")

# Each program becomes a script that starts it by the emulator. CMAKE_CROSSCOMPILING_EMULATOR would help ctest alone.
find_program(BURN_QEMU NAMES qemu-${BURN_CROSS_CPU}-static qemu-${BURN_CROSS_CPU} REQUIRED)
set(emulate "sh ${CMAKE_CURRENT_LIST_DIR}/emulated.sh ${BURN_QEMU} <TARGET>")
foreach(language C CXX)
  set(CMAKE_${language}_LINK_EXECUTABLE
    "<CMAKE_${language}_COMPILER> <FLAGS> <CMAKE_${language}_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>" "${emulate}")
endforeach()
