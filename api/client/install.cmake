# The C++ client library: find_package(kiln), target kiln::client, #include <kiln/client.hpp>.
add_library(kiln-client STATIC $<TARGET_OBJECTS:engine_base> $<TARGET_OBJECTS:api_protocol> $<TARGET_OBJECTS:api_client>)
set_target_properties(kiln-client PROPERTIES EXPORT_NAME client LINKER_LANGUAGE CXX)
target_link_libraries(kiln-client INTERFACE Threads::Threads)
target_compile_features(kiln-client INTERFACE cxx_std_20)
target_include_directories(kiln-client INTERFACE $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/kiln/detail>)
install(TARGETS kiln-client EXPORT kiln ARCHIVE DESTINATION lib COMPONENT client)
install(EXPORT kiln NAMESPACE kiln:: FILE kiln-targets.cmake DESTINATION lib/cmake/kiln COMPONENT client)
install(FILES api/client/kiln-config.cmake DESTINATION lib/cmake/kiln COMPONENT client)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/kiln-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/kiln-config-version.cmake DESTINATION lib/cmake/kiln COMPONENT client)
install(FILES api/client/kiln/client.hpp DESTINATION include/kiln COMPONENT client)
# What the library's header includes, under the names that it does.
foreach(header api/client/client.hpp api/client/capture_files.hpp api/client/held_resources.hpp
        api/client/ring.hpp api/client/visible_cards.hpp api/protocol/json.hpp api/protocol/limits.hpp
        api/protocol/message.hpp engine/base/bytes.hpp engine/base/deadline.hpp engine/base/diagnostics.hpp
        engine/base/fd.hpp engine/base/paths.hpp engine/base/result.hpp engine/base/ring_memory.hpp)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION include/kiln/detail/${folder} COMPONENT client)
endforeach()
