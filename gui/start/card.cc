#include "card.h"

#include <QEvent>
#include <QPainter>
#include <QVBoxLayout>

#include <rpcrdma/icons/icons.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

SourceCard::SourceCard(const QString& icon_name, const QString& title, const QString& keys,
                       const QString& tip, QWidget* parent)
    : QFrame(parent),
      icon_(icon_name),
      heading_(new RowButton(this)),
      column_(new QVBoxLayout(this)) {
  text_.title = title;
  text_.value = keys;
  text_.tip = tip;
  text_.strong = true;
  column_->setContentsMargins(8, 8, 8, 8);
  column_->setSpacing(2);
  column_->addWidget(heading_);
  draw_icon();
}

void SourceCard::draw_icon() {
  text_.icon = icon(icon_, ink(palette(), Ink::kCall));
  heading_->set(text_);
}

void SourceCard::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) draw_icon();
}

void SourceCard::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(tint(palette(), palette().color(QPalette::Text), 0.18));
  painter.setBrush(palette().color(QPalette::Base));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
}

SecondLine::SecondLine(const QString& text, int indent, QWidget* parent) : QLabel(text, parent) {
  setTextFormat(Qt::PlainText);
  setWordWrap(true);
  setContentsMargins(indent, 0, 8, 4);
}

// The label's own way needs a palette of its own, which would not follow the theme.
void SecondLine::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setPen(second_text(palette()));
  painter.drawText(contentsRect(),
                   static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, text());
}

}  // namespace rpcrdma::gui
