#include "card.h"

#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <rpcrdma/icons/icons.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

SourceCard::SourceCard(const QString& icon_name, const QString& title, const QString& keys, const QString& tip,
           QWidget* parent)
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

QLabel* second_line(const QString& text, QWidget* parent) {
  auto* const label = new QLabel(text, parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setIndent(36);
  QPalette colours = label->palette();
  QColor second = colours.color(QPalette::WindowText);
  second.setAlphaF(0.66F);
  colours.setColor(QPalette::WindowText, second);
  label->setPalette(colours);
  return label;
}

}  // namespace rpcrdma::gui
