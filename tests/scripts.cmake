# Tests that are scripts: Python's unittest, run by ctest; and the examples.
set(KILN_PYTHON /usr/bin/python3)
# kiln_script(name file): a script that ends with status 0.
function(kiln_script name file)
  add_test(NAME ${name} COMMAND ${KILN_PYTHON} ${CMAKE_SOURCE_DIR}/${file} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "KILN_BIN=${CMAKE_BINARY_DIR}/bin;KILN_BUILD=${CMAKE_BINARY_DIR}")
endfunction()

file(GLOB scripts CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} tests/protocol/*_test.py tests/python/*_test.py)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME_WE)
  get_filename_component(folder ${script} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  kiln_script(${folder}.${name} ${script})
endforeach()
if(EXISTS ${CMAKE_SOURCE_DIR}/tests/layering.py)
  kiln_script(layering tests/layering.py)
endif()
