# Tests that are scripts: Python's unittest, run by ctest; and the examples.
set(KILN_PYTHON /usr/bin/python3)
# kiln_script(name file): a script that ends with status 0.
function(kiln_script name file)
  add_test(NAME ${name} COMMAND ${KILN_PYTHON} ${CMAKE_SOURCE_DIR}/${file} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT
                       "KILN_BIN=${CMAKE_BINARY_DIR}/bin;KILN_BUILD=${CMAKE_BINARY_DIR}")
  if(KILN_NIGHTLY)  # tests/support/nightly.py
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT KILN_NIGHTLY=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 3600)
  endif()
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

# Triton's objects on emulated cards, where the environment names a Python that has Triton: KILN_TRITON_PYTHON.
function(kiln_triton_test name seed)
  kiln_script(${name} tests/differential/triton/triton_objects_test.py)
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600 SKIP_REGULAR_EXPRESSION "OK \\(skipped=2\\)")
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "KILN_SEED=${seed}")
endfunction()
kiln_triton_test(differential.triton 1)
if(KILN_NIGHTLY)
  kiln_triton_test(nightly.triton ${KILN_NIGHTLY_SEED})
  set_tests_properties(nightly.triton PROPERTIES LABELS nightly)
endif()

# Kills at every place and some at random; a seed of its own every night.
kiln_script(soak.kills tests/soak/kills.py --kills 16 --clients 3 --seed 1)
if(KILN_NIGHTLY)
  kiln_script(nightly.kills tests/soak/kills.py --kills 200 --seed ${KILN_NIGHTLY_SEED})
  set_tests_properties(nightly.kills PROPERTIES LABELS nightly TIMEOUT 3600)
endif()

# What reads strangers' bytes, under sanitizers and fuzzed: programs of a tree that tests/run.sh builds (preset `readers`).
set(KILN_READERS ${CMAKE_SOURCE_DIR}/build/readers)
# kiln_reader_test(name program command...): skipped where the tree is not built.
function(kiln_reader_test name program)
  add_test(NAME ${name} COMMAND sh -c "test -x ${program} || exit 77; exec \"$@\"" sh ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()
foreach(test unit_base unit_tile unit_protocol unit_cache)
  kiln_reader_test(sanitized.${test} ${KILN_READERS}/tests/${test} ${KILN_READERS}/tests/${test} --gtest_brief=1)
endforeach()
set(fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz/readers/fuzz.py --programs ${KILN_READERS}/fuzz)
foreach(target lines program expression entry bundle)
  kiln_reader_test(fuzz.${target} ${KILN_READERS}/fuzz/${target}_fuzz ${KILN_PYTHON} ${fuzz} ${target} --seconds 5)
  if(KILN_NIGHTLY)
    kiln_reader_test(nightly.fuzz.${target} ${KILN_READERS}/fuzz/${target}_fuzz ${KILN_PYTHON} ${fuzz} ${target} --seconds 900
                     --seed ${KILN_NIGHTLY_SEED} --corpus ${KILN_READERS}/corpus/${target})
    set_tests_properties(nightly.fuzz.${target} PROPERTIES LABELS nightly TIMEOUT 1800)
  endif()
endforeach()
