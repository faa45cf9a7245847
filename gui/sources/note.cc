#include "note.h"

namespace rpcrdma::gui {

Note::Note(QWidget* parent) : QLabel(parent) {
  setWordWrap(true);
  setTextFormat(Qt::PlainText);  // it may quote text from elsewhere
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  hide();
}

void Note::say(const QString& text) {
  setText(text);
  setAccessibleName(text);
  setVisible(!text.isEmpty());
}

}  // namespace rpcrdma::gui
