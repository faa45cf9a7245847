#include "note.h"

namespace rpcrdma::gui {

Note::Note(QWidget* parent) : QLabel(parent) {
  setWordWrap(true);
  setTextFormat(Qt::PlainText);  // others' words may be in it
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  hide();
}

void Note::say(const QString& text) {
  setText(text);
  setAccessibleName(text);
  setVisible(!text.isEmpty());
}

}  // namespace rpcrdma::gui
