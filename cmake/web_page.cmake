# The page as part of the program: webui/index.html becomes a C++ array that the layer which answers "/" is linked with.
#
# Included, it adds the step; run with -P by that step (INPUT, OUTPUT), it writes the array.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${INPUT} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  file(WRITE ${OUTPUT} "#include <cstddef>\nnamespace anedvd {\nextern const char kWebPageBytes[];\nextern const std::size_t kWebPageSize;\n"
    "const char kWebPageBytes[] = {${bytes}'\\0'};\nconst std::size_t kWebPageSize = ${size};\n}  // namespace anedvd\n")
  return()
endif()

set(web_page_source ${CMAKE_BINARY_DIR}/generated/web_page_bytes.cpp)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${web_page_source}
  COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_SOURCE_DIR}/webui/index.html -DOUTPUT=${web_page_source} -P ${CMAKE_SOURCE_DIR}/cmake/web_page.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/webui/index.html ${CMAKE_SOURCE_DIR}/cmake/web_page.cmake
  COMMENT "webui/index.html as bytes"
  VERBATIM)
target_sources(anedvd_api PRIVATE ${web_page_source})
