# cmake -DINPUT=file -DOUTPUT=file.cc -DNAMESPACE=a::b -DNAME=name -P EmbedFile.cmake
# Writes a C++ file with the bytes of a file: a::b::name_begin, and a::b::name_bytes of them.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," values "${hex}")
file(WRITE ${OUTPUT} "// Made by EmbedFile.cmake.
#include <cstddef>

namespace ${NAMESPACE} {
alignas(8) extern const unsigned char ${NAME}_begin[] = {
${values}
};
extern const std::size_t ${NAME}_bytes = ${bytes};
}  // namespace ${NAMESPACE}
")
