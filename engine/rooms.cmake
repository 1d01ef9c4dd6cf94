# The engine's rooms in the order of the path; a room may use those before it.
kiln_room(engine/base LIBS OpenSSL::Crypto Threads::Threads xxhash)
kiln_room(engine/ir DEPS engine_base)
kiln_room(engine/profile DEPS engine_ir)
kiln_room(engine/reference DEPS engine_ir)
kiln_room(engine/specialize DEPS engine_ir)
kiln_room(engine/lower DEPS engine_specialize engine_profile)
kiln_room(engine/emit DEPS engine_ir)
# Files named *_llvm.cpp need LLVM and are linked into the host programs only.
kiln_room(engine/compile EXCLUDE "_llvm\\.cpp$" DEPS engine_emit engine_lower LIBS dl)
kiln_room(engine/device EXCLUDE "_llvm\\.cpp$" DEPS engine_compile)
# What a launch was, in a file.
kiln_room(engine/capture DEPS engine_compile LIBS zstd)
kiln_room(engine/jit DEPS engine_device engine_compile engine_reference engine_specialize)
kiln_room(engine/tune DEPS engine_jit)
# hiredis is linked in whole where its archive is there: programs carry it along. libcurl is loaded when it is needed, so
# that only its header is wanted here.
find_library(KILN_HIREDIS NAMES libhiredis.a hiredis REQUIRED)
find_path(KILN_HIREDIS_INCLUDE hiredis/hiredis.h REQUIRED)
find_path(KILN_CURL_INCLUDE curl/curl.h REQUIRED)
kiln_room(cache DEPS engine_jit LIBS ${KILN_HIREDIS} dl)
target_include_directories(cache SYSTEM PRIVATE ${KILN_HIREDIS_INCLUDE} ${KILN_CURL_INCLUDE})

# The build's identity: a hash over the sources that decide what a compile gives.
file(GLOB_RECURSE KILN_IDENTITY_SOURCES CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/engine/ir/*.[ch]pp ${CMAKE_SOURCE_DIR}/engine/specialize/*.[ch]pp
  ${CMAKE_SOURCE_DIR}/engine/lower/*.[ch]pp ${CMAKE_SOURCE_DIR}/engine/emit/*.[ch]pp
  ${CMAKE_SOURCE_DIR}/engine/compile/*.[ch]pp)
set(KILN_IDENTITY_HEADER ${CMAKE_BINARY_DIR}/generated/kiln_source_identity.hpp)
add_custom_command(OUTPUT ${KILN_IDENTITY_HEADER}
  COMMAND ${CMAKE_COMMAND} -DOUT=${KILN_IDENTITY_HEADER} -DROOT=${CMAKE_SOURCE_DIR}
          -P ${CMAKE_SOURCE_DIR}/engine/jit/source_identity.cmake
  DEPENDS ${KILN_IDENTITY_SOURCES} ${CMAKE_SOURCE_DIR}/engine/jit/source_identity.cmake
  COMMENT "hashing the sources that decide what a compile gives")
add_custom_target(kiln_source_identity DEPENDS ${KILN_IDENTITY_HEADER})
get_target_property(kind engine_jit TYPE)
if(NOT kind STREQUAL "INTERFACE_LIBRARY")
  add_dependencies(engine_jit kiln_source_identity)
  target_include_directories(engine_jit PRIVATE ${CMAKE_BINARY_DIR}/generated)
endif()

kiln_program(kiln-reference engine/reference/reference_main.cpp engine_reference)
kiln_program(kiln-compile-hip engine/compile/hip_main.cpp engine_compile)
kiln_program(kiln-device-hip engine/device/hip_main.cpp engine_device)
kiln_program(kiln-doctor-hip engine/device/hip_doctor_main.cpp engine_device)
kiln_program(kiln-emulate engine/device/hip_emulate_main.cpp engine_device)
foreach(program kiln-compile-hip kiln-device-hip kiln-doctor-hip kiln-emulate)
  kiln_hosts_foreign(${program})
endforeach()
if(KILN_WITH_LLVM)
  function(kiln_llvm_library name pattern)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern})
    if(sources)
      add_library(${name} STATIC ${sources})
      target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
      target_compile_options(${name} PRIVATE -fno-rtti -Wno-unused-parameter)
      target_link_libraries(${name} PUBLIC ${ARGN} -L${LLVM_LIBRARY_DIR} LLVM-22)
    endif()
  endfunction()
  kiln_llvm_library(engine_compile_llvm "engine/compile/*_llvm.cpp" engine_compile)
  kiln_llvm_library(engine_device_llvm "engine/device/*_llvm.cpp" engine_device)
  if(TARGET engine_compile_llvm)
    kiln_program(kiln-compile-host engine/compile/host_main.cpp engine_compile_llvm)
  endif()
  if(TARGET engine_device_llvm)
    kiln_program(kiln-device-host engine/device/host_main.cpp engine_device_llvm)
  endif()
endif()

# The emulated card: the machine with its HIP interface as libamdhip64, and the execution core, a shared library per
# instruction set of the build machine's kind.
if(KILN_WITH_LLVM)
  kiln_room(engine/emulator EXCLUDE "/emulator/core/" "/emulator/hip/" DEPS engine_device)
  get_target_property(kind engine_emulator TYPE)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(engine_emulator SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
    target_link_libraries(engine_emulator PUBLIC -L${LLVM_LIBRARY_DIR} LLVM-22 dl)
  endif()
  file(GLOB_RECURSE KILN_EMULATOR_CORE CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/emulator/core/*.cpp)
  set(KILN_EMULATOR_FLAGS -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -frounding-math -fno-gnu-unique)
  set(KILN_EMULATOR_LEVELS v3 v4)
  if(NOT KILN_EMULATOR_CORE)
    set(KILN_EMULATOR_LEVELS)
  endif()
  foreach(level ${KILN_EMULATOR_LEVELS})
    add_library(kiln-emulator-core-${level} SHARED ${KILN_EMULATOR_CORE})
    target_include_directories(kiln-emulator-core-${level} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_options(kiln-emulator-core-${level} PRIVATE ${KILN_EMULATOR_FLAGS} -march=x86-64-${level})
    set_target_properties(kiln-emulator-core-${level} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/kiln)
    kiln_bundled(kiln-emulator-core-${level} bundled/lib)
  endforeach()
  if(TARGET kiln-emulator-core-v4)
    target_compile_options(kiln-emulator-core-v4 PRIVATE -mprefer-vector-width=512)
  endif()
  # Its soname is the real library's, so that a program linked with that finds this one first in LD_LIBRARY_PATH.
  file(GLOB KILN_EMULATOR_HIP CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/emulator/hip/*.cpp)
  if(KILN_EMULATOR_HIP)
    add_library(kiln-emulated-hip SHARED ${KILN_EMULATOR_HIP})
    target_link_libraries(kiln-emulated-hip PRIVATE engine_emulator -Wl,--exclude-libs,ALL)
    set_target_properties(kiln-emulated-hip PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/kiln/emulated
                          OUTPUT_NAME amdhip64 SOVERSION 6
                          LINK_DEPENDS ${CMAKE_SOURCE_DIR}/engine/emulator/hip/versions.map)
    kiln_bundled(kiln-emulated-hip ../bundled/lib)
    # Threads of streams run until the process ends: the library must not be unmapped under them.
    target_link_options(kiln-emulated-hip PRIVATE -Wl,-z,nodelete
                        -Wl,--version-script=${CMAKE_SOURCE_DIR}/engine/emulator/hip/versions.map)
    foreach(version 5 7)
      add_custom_command(TARGET kiln-emulated-hip POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink libamdhip64.so.6
                         ${CMAKE_BINARY_DIR}/lib/kiln/emulated/libamdhip64.so.${version})
    endforeach()
    if(TARGET kiln-emulator-core-v4)
      add_dependencies(kiln-emulated-hip kiln-emulator-core-v3 kiln-emulator-core-v4)
    endif()
  endif()
endif()
