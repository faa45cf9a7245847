// Frames with signs, and findings in them.
#include "cards.h"
#include "signs.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

QLabel* plain_label(QWidget* parent, bool wrap) {
  auto* const label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(wrap);
  return label;
}

Card::Card(QWidget* parent) : QFrame(parent) {}

void Card::set_sign(std::optional<Sign> sign) {
  sign_ = sign;
  update();
}

void Card::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF area = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  painter.setPen(line_colour(palette()));
  painter.setBrush(palette().color(QPalette::Base));
  painter.drawRoundedRect(area, 4, 4);
  if (!sign_) return;
  painter.setPen(Qt::NoPen);
  painter.setBrush(sign_colour(palette(), *sign_));
  painter.drawRoundedRect(QRectF(area.left(), area.top(), 4, area.height()), 2, 2);
}

SignLabel::SignLabel(int size, QWidget* parent) : QWidget(parent) {
  setFixedSize(size, size);
}

void SignLabel::set_sign(Sign sign) {
  sign_ = sign;
  setAccessibleName(sign_name(sign));
  update();
}

void SignLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint_sign(painter, rect(), palette(), sign_);
}

FindingWidget::FindingWidget(QWidget* parent)
    : Card(parent),
      sign_(new SignLabel(18, this)),
      title_(plain_label(this, true)),
      when_(plain_label(this)),
      text_(plain_label(this, true)),
      about_(plain_label(this, true)),
      advice_(plain_label(this, true)),
      evidence_(new QPushButton(tr("Evidence"), this)),
      advice_button_(new QPushButton(tr("Advice"), this)),
      only_(new QPushButton(this)) {
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  title_->setFont(bold);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  advice_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  evidence_->setToolTip(tr("Selects the first message that shows it"));
  advice_button_->setToolTip(tr("Shows what to do about it"));
  advice_button_->setCheckable(true);
  auto* const head = new QHBoxLayout;
  head->setSpacing(8);
  head->addWidget(sign_, 0, Qt::AlignTop);
  head->addWidget(title_, 1);
  head->addWidget(when_, 0, Qt::AlignTop);
  auto* const foot = new QHBoxLayout;
  foot->setSpacing(8);
  foot->addWidget(about_, 1);
  for (QPushButton* const button : {evidence_, advice_button_, only_}) foot->addWidget(button);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(12, 8, 12, 8);
  all->setSpacing(4);
  all->addLayout(head);
  all->addWidget(text_);
  all->addWidget(advice_);
  all->addLayout(foot);
  advice_->hide();
  connect(advice_button_, &QPushButton::toggled, advice_, &QWidget::setVisible);
  connect(evidence_, &QPushButton::clicked, this, &FindingWidget::evidence_wanted);
  connect(only_, &QPushButton::clicked, this, &FindingWidget::only_wanted);
  dress();
}

void FindingWidget::set(const FindingCard& card, const QString& when) {
  card_ = card;
  set_sign(card.sign);
  sign_->set_sign(card.sign);
  title_->setText(card.title);
  when_->setText(when);
  text_->setText(card.text);
  QStringList about{card.rule, card.count == 1 ? tr("once") : tr("%L1 times").arg(card.count)};
  if (!card.side.isEmpty()) {
    about << (card.sign == Sign::kNote ? card.side : tr("at fault: %1").arg(card.side));
  }
  if (!card.connections.isEmpty()) about << card.connections;
  about_->setText(about.join(" · "));
  advice_->setText(tr("What to do: %1").arg(card.advice));
  advice_button_->setVisible(!card.advice.isEmpty());
  evidence_->setVisible(card.frame != 0);
  only_->setText(tr("Only these"));
  only_->setToolTip(tool_tip(tr("Shows only the messages that break %1").arg(card.rule)));
  setAccessibleName(
      QString("%1: %2, %3. %4").arg(sign_name(card.sign), card.title, about.join(", "), card.text));
  for (QPushButton* const button : {evidence_, advice_button_, only_}) {
    button->setAccessibleName(tr("%1 of %2").arg(button->text(), card.title));
  }
}

QString FindingWidget::shown_text() const {
  return QStringList({title_->text(), when_->text(), text_->text(), about_->text()}).join('\n');
}

void FindingWidget::dress() {
  QPalette colours = palette();
  colours.setColor(QPalette::WindowText, secondary_text(colours));
  when_->setPalette(colours);
  about_->setPalette(colours);
}

void FindingWidget::changeEvent(QEvent* event) {
  Card::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) dress();
}

}  // namespace rpcrdma::gui
