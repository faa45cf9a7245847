#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

bool is_plain(QChar c) {
  switch (c.category()) {
    case QChar::Other_Control:
    case QChar::Other_Format:
    case QChar::Separator_Line:
    case QChar::Separator_Paragraph:
      return false;
    default:
      return true;
  }
}

QString cleaned(QString text, bool keep_line_ends) {
  for (QChar& c : text) {
    if (!is_plain(c) && !(keep_line_ends && c == '\n')) c = QChar::ReplacementCharacter;
  }
  return text;
}

}  // namespace

QString one_line(const QString& text) {
  return cleaned(text, false);
}

QString tool_tip(const QString& text) {
  if (text.isEmpty()) return {};
  return "<span>" + cleaned(text, true).toHtmlEscaped().replace('\n', "<br>") + "</span>";
}

QString chart_text(const QString& text) {
  return one_line(text).toHtmlEscaped();
}

QString menu_text(const QString& text) {
  return one_line(text).replace('&', "&&");
}

}  // namespace rpcrdma::gui
