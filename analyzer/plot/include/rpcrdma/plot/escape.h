// Escapes untrusted text for its output.
#pragma once

#include <string>
#include <string_view>

namespace rpcrdma::plot {

// For XML and HTML, between tags and in quoted attributes. Bytes that are not UTF-8, or not a
// character of XML 1.0, become U+FFFD.
[[nodiscard]] std::string escape_xml(std::string_view text);

// For a terminal, as part of one line, which it does not end: names of files and endpoints, text
// from peers. Control characters (C0, DEL and C1), characters that change the writing direction,
// and bytes that are not UTF-8 are written as "\xNN"; everything else is unchanged.
[[nodiscard]] std::string escape_terminal(std::string_view text);

// For a terminal: one line of at most `width` columns; longer text is truncated with "...". Control
// characters and bytes that are not UTF-8 become "?"; without `utf8`, so does everything that is
// not ASCII.
[[nodiscard]] std::string fit_terminal(std::string_view text, std::size_t width, bool utf8);

// Number of terminal columns that the result of fit_terminal() occupies.
[[nodiscard]] std::size_t terminal_width(std::string_view text);

}  // namespace rpcrdma::plot
