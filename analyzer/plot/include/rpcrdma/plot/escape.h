// Text of unknown origin, made safe for where it goes.
#pragma once

#include <string>
#include <string_view>

namespace rpcrdma::plot {

// For XML and HTML, between tags and in quoted attributes. What is no UTF-8, or no character of XML
// 1.0, becomes U+FFFD.
[[nodiscard]] std::string escape_xml(std::string_view text);

// For a terminal, as part of one line, which it does not end: names of files and endpoints, words
// of peers. Control characters (C0, DEL and C1), marks that turn the direction of writing, and
// bytes that are no UTF-8 come out as "\xNN"; all else is as it was.
[[nodiscard]] std::string escape_terminal(std::string_view text);

// For a terminal: one line of at most `width` columns, longer text with "..." at its end. Control
// characters and what is no UTF-8 become "?"; without `utf8` all that is not ASCII does.
[[nodiscard]] std::string fit_terminal(std::string_view text, std::size_t width, bool utf8);

// Columns that a terminal gives to what fit_terminal() returned.
[[nodiscard]] std::size_t terminal_width(std::string_view text);

}  // namespace rpcrdma::plot
