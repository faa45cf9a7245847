#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

DecimalText::DecimalText(Decimal d) {
  auto rest = static_cast<std::uint64_t>(d.units);
  if (d.units < 0) rest = 0 - rest;
  const auto put = [this](char c) { text_[--begin_] = c; };
  const auto digit = [&rest] {
    const char c = static_cast<char>('0' + rest % 10);
    rest /= 10;
    return c;
  };
  bool fraction = false;  // a digit other than a trailing zero was written
  for (unsigned i = 0; i < d.places; ++i) {
    const char c = digit();
    fraction |= c != '0';
    if (fraction) put(c);
  }
  if (fraction) put('.');
  do {
    put(digit());
  } while (rest != 0);
  if (d.units < 0) put('-');
}

}  // namespace rpcrdma::report
