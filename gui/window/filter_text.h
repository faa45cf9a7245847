// Takes the text of a display filter apart and puts it together: the parts that are joined by
// "and", what may stand at the cursor, and values as filters write them.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <functional>
#include <optional>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::gui {

// Parts joined by "&&" or "and", outside of parentheses; one part, if "or" joins them. An empty
// text has no part.
[[nodiscard]] QStringList filter_parts(const QString& filter);

// "a && b", with parentheses around a part that needs them. Empty parts are left out.
[[nodiscard]] QString filter_and(const QStringList& parts);
[[nodiscard]] QString filter_or(const QString& a, const QString& b);
[[nodiscard]] QString filter_not(const QString& part);

// Whether both texts are the same filter, but for spaces and outer parentheses.
[[nodiscard]] bool is_same_filter(const QString& a, const QString& b);

// Adds a part, or takes away the parts for which `is` returns true.
[[nodiscard]] QString with_part(const QString& filter, const QString& part);
[[nodiscard]] QString without_part(const QString& filter,
                                   const std::function<bool(const QString& part)>& is);

// Texts as filters write them: "\"a\\x1bb\"".
[[nodiscard]] QString filter_string(const std::string& text);
// A value of a number field: its name, if a filter accepts that, or the number.
[[nodiscard]] QString filter_number(const decode::FieldSpec& field, std::uint64_t value,
                                    const std::string& name = {});

// What may stand where the cursor is.
struct FilterPlace {
  enum class Wanted : std::uint8_t { kField, kOperator, kValue, kJoin };
  Wanted wanted = Wanted::kField;
  int begin = 0, end = 0;                // of the word at the cursor, up to the cursor
  std::optional<decode::FieldId> field;  // kOperator, kValue: of the test
};
[[nodiscard]] FilterPlace filter_place(const QString& text, int cursor);

}  // namespace rpcrdma::gui
