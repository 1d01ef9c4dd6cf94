# The service's rooms: protocol knows no sockets, server knows no methods, daemon and cli wire everything.
kiln_room(api/protocol DEPS engine_base)
kiln_room(api/service DEPS api_protocol engine_jit engine_capture)
kiln_room(api/server DEPS api_service)
kiln_room(api/client DEPS api_protocol)
kiln_room(api/daemon DEPS api_server cache engine_tune LIBS spdlog fmt)
kiln_room(api/cli DEPS api_client api_daemon)
# JSON is what these rooms spend their compile time on: precompiled once.
set(json_headers <nlohmann/json.hpp> <functional> <map> <memory> <string> <vector>)
foreach(room api_protocol api_service api_server api_client api_daemon)
  kiln_precompile(${room} api_protocol ${json_headers})
endforeach()
kiln_precompile(api_cli api_cli <CLI/CLI.hpp> ${json_headers})
kiln_program(kilnd api/daemon/main.cpp api_daemon)
kiln_program(kiln api/cli/main.cpp api_cli)

# Programs look for their data beside themselves, in ../share/kiln, in the build tree as in an installed one.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/kiln)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/kernels/include ${CMAKE_BINARY_DIR}/share/kiln/include SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/kernels/programs ${CMAKE_BINARY_DIR}/share/kiln/programs SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/api/python ${CMAKE_BINARY_DIR}/share/kiln/python SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/kernels/tuning ${CMAKE_BINARY_DIR}/share/kiln/tuning SYMBOLIC)
