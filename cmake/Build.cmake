# How every target of this tree is built, and the two functions that declare one.

add_library(callonce_flags INTERFACE)
target_compile_features(callonce_flags INTERFACE cxx_std_20)
target_compile_options(callonce_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror
  # g++ 12 reports the first two falsely for std::string and std::vector inserts at -O2, the third for
  # the frames of Asio's coroutines.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-array-bounds -Wno-mismatched-new-delete>)
if(CALLONCE_SANITIZE)
  list(JOIN CALLONCE_SANITIZE "," sanitizers)
  # Instrumented code makes g++ see uninitialized values where there are none.
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${sanitizers})
  if("thread" IN_LIST CALLONCE_SANITIZE)
    add_compile_options(-Wno-tsan)  # Asio's fences are not modelled by ThreadSanitizer.
  else()
    add_compile_options(-fno-sanitize-recover=all)
  endif()
endif()

# For directories full of Beast: at -O1 with sanitizers one of their units takes a minute and 1.5 GB.
macro(callonce_unoptimised_under_sanitizers)
  if(CALLONCE_SANITIZE)
    add_compile_options(-O0)
  endif()
endmacro()

# callonce_library(NAME room/path SOURCES … HEADERS … LINK … PRIVATE …)
# One room of the library: target callonce_NAME, alias and export callonce::NAME.
function(callonce_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;LINK;PRIVATE" ${ARGN})
  add_library(callonce_${name} ${arg_SOURCES})
  add_library(callonce::${name} ALIAS callonce_${name})
  set_target_properties(callonce_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION})
  target_sources(callonce_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
  target_compile_features(callonce_${name} PUBLIC cxx_std_20)
  target_link_libraries(callonce_${name} PUBLIC ${arg_LINK}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:callonce_flags>)
  install(TARGETS callonce_${name} EXPORT callonce_${name}
    ARCHIVE COMPONENT library LIBRARY COMPONENT library
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
  install(EXPORT callonce_${name} NAMESPACE callonce:: COMPONENT library
    FILE callonce-${name}.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/callonce)
endfunction()

# callonce_test(NAME LABEL label SOURCES … LINK …): a GoogleTest program, each of its tests a ctest;
# with WHOLE the program is one, so that its tests share what is dear to start.
function(callonce_test name)
  cmake_parse_arguments(arg "WHOLE" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT CALLONCE_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main callonce_flags)
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()
