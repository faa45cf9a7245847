#include "row_button.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QVBoxLayout>
#include <cmath>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kMargin = 8;
constexpr int kSign = 18;
constexpr int kGap = 10;

}  // namespace

QColor second_text(const QPalette& palette) {
  QColor text = palette.color(QPalette::WindowText);
  text.setAlphaF(0.7F);
  return text;
}

void draw_sign(QPainter& painter, const QRectF& rect, FileSign sign, const QPalette& palette) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QPointF middle = rect.center();
  const double r = rect.width() / 2 - 1;
  const QColor colour = sign == FileSign::kHealthy ? ink(palette, Ink::kReply)
                        : sign == FileSign::kUnknown
                            ? second_text(palette)
                            : severity_colour(palette, static_cast<int>(sign));
  QPolygonF shape;
  if (sign == FileSign::kError) {
    for (int i = 0; i < 8; ++i) {
      const double angle = (i + 0.5) * M_PI / 4;
      shape << middle + QPointF(r * std::cos(angle), r * std::sin(angle));
    }
  } else if (sign == FileSign::kWarning) {
    shape << middle + QPointF(0, -r) << middle + QPointF(r, r * 0.8)
          << middle + QPointF(-r, r * 0.8);
  }
  const bool hollow = sign == FileSign::kHealthy || sign == FileSign::kUnknown;
  painter.setPen(hollow ? QPen(colour, 1.6) : QPen(Qt::NoPen));
  painter.setBrush(hollow ? QBrush(Qt::NoBrush) : QBrush(colour));
  if (shape.isEmpty()) {
    painter.drawEllipse(middle, r, r);
  } else {
    painter.drawPolygon(shape);
  }
  const QColor on_it = hollow ? colour : palette.color(QPalette::Base);
  painter.setPen(QPen(on_it, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  const auto line = [&](double x1, double y1, double x2, double y2) {
    painter.drawLine(middle + QPointF(x1, y1) * r, middle + QPointF(x2, y2) * r);
  };
  switch (sign) {
    case FileSign::kError:
      line(-0.35, -0.35, 0.35, 0.35);
      line(-0.35, 0.35, 0.35, -0.35);
      break;
    case FileSign::kWarning:
      line(0, -0.35, 0, 0.25);
      line(0, 0.55, 0, 0.56);
      break;
    case FileSign::kNote:
      line(0, -0.05, 0, 0.5);
      line(0, -0.5, 0, -0.49);
      break;
    case FileSign::kHealthy:
      line(-0.42, 0.02, -0.1, 0.36);
      line(-0.1, 0.36, 0.45, -0.32);
      break;
    case FileSign::kUnknown:
      line(-0.35, 0, 0.35, 0);
      break;
  }
  painter.restore();
}

RowButton::RowButton(QWidget* parent) : QAbstractButton(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setCursor(Qt::PointingHandCursor);
  setAttribute(Qt::WA_Hover);
}

void RowButton::set(const RowText& text) {
  text_ = text;
  text_.title = one_line(text.title);
  text_.detail = one_line(text.detail);
  text_.value = one_line(text.value);
  QStringList all{text_.title};
  if (!text_.value.isEmpty()) all << text_.value;
  if (!text_.detail.isEmpty()) all << text_.detail;
  setAccessibleName(all.join(", "));
  setAccessibleDescription(one_line(text.tip));
  setToolTip(tool_tip(text.tip));
  updateGeometry();
  update();
}

QSize RowButton::sizeHint() const {
  const int lines = text_.detail.isEmpty() ? 1 : 2;
  return {fontMetrics().averageCharWidth() * 40, fontMetrics().height() * lines + 12};
}

QSize RowButton::minimumSizeHint() const {
  return {fontMetrics().averageCharWidth() * 20, sizeHint().height()};
}

QRect RowButton::cross() const {
  if (!text_.removable) return {};
  return {width() - 24, (height() - 20) / 2, 20, 20};
}

void RowButton::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor accent = ink(palette(), Ink::kCall);
  const QRectF box = QRectF(rect()).adjusted(1, 1, -1, -1);
  if (isDown() || underMouse()) {
    QColor wash = palette().color(QPalette::Text);
    wash.setAlphaF(isDown() ? 0.12F : 0.06F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(wash);
    painter.drawRoundedRect(box, 4, 4);
  }
  if (hasFocus()) {
    painter.setPen(QPen(accent, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(box, 4, 4);
  }
  int left = kMargin;
  const QRect sign(left, (height() - kSign) / 2, kSign, kSign);
  if (text_.sign) {
    draw_sign(painter, sign, *text_.sign, palette());
    left += kSign + kGap;
  } else if (!text_.icon.isNull()) {
    text_.icon.paint(&painter, sign);
    left += kSign + kGap;
  }
  int right = width() - kMargin;
  const QColor second = second_text(palette());
  const bool with_cross = text_.removable && (underMouse() || hasFocus());
  if (with_cross) {
    painter.setPen(QPen(second, 1.6, Qt::SolidLine, Qt::RoundCap));
    const QRectF c = QRectF(cross()).adjusted(6, 6, -6, -6);
    painter.drawLine(c.topLeft(), c.bottomRight());
    painter.drawLine(c.topRight(), c.bottomLeft());
  }
  if (text_.removable) right = cross().left() - 4;
  const QFontMetrics metrics = fontMetrics();
  const int line = metrics.height();
  const int lines = text_.detail.isEmpty() ? 1 : 2;
  int top = (height() - line * lines) / 2;
  if (!text_.value.isEmpty()) {
    const int most = std::min(metrics.horizontalAdvance(text_.value) + 2, (right - left) / 2);
    painter.setPen(second);
    painter.drawText(QRect(right - most, top, most, line), Qt::AlignRight | Qt::AlignVCenter,
                     metrics.elidedText(text_.value, Qt::ElideRight, most));
    right -= most + kGap;
  }
  QFont heading = font();
  if (text_.strong) heading.setWeight(QFont::DemiBold);
  painter.setFont(heading);
  painter.setPen(text_.faint ? second : palette().color(QPalette::Text));
  painter.drawText(
      QRect(left, top, right - left, line), Qt::AlignVCenter,
      QFontMetrics(heading).elidedText(text_.title, Qt::ElideMiddle, std::max(0, right - left)));
  if (lines == 1) return;
  painter.setFont(font());
  painter.setPen(second);
  top += line;
  right = text_.removable ? cross().left() - 4 : width() - kMargin;
  painter.drawText(QRect(left, top, right - left, line), Qt::AlignVCenter,
                   metrics.elidedText(text_.detail, text_.elide, std::max(0, right - left)));
}

void RowButton::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      click();
      return;
    case Qt::Key_Delete:
      if (!text_.removable) break;
      Q_EMIT remove_wanted();
      return;
    default:
      break;
  }
  QAbstractButton::keyPressEvent(event);
}

void RowButton::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && cross().contains(event->pos())) {
    setDown(false);
    Q_EMIT remove_wanted();
    return;
  }
  QAbstractButton::mouseReleaseEvent(event);
}

void RowButton::contextMenuEvent(QContextMenuEvent* event) {
  if (!text_.removable) return QAbstractButton::contextMenuEvent(event);
  auto* const menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(tr("&Open"), this, &QAbstractButton::click);
  menu->addAction(tr("&Remove from the list"), this, &RowButton::remove_wanted);
  menu->popup(event->globalPos());
}

RowList::RowList(const QString& name, QWidget* parent)
    : QWidget(parent), column_(new QVBoxLayout(this)) {
  setObjectName(name);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(0);
}

void RowList::set(const std::vector<RowText>& texts) {
  QString focused;
  for (const RowButton* const row : rows_) {
    if (row->hasFocus()) focused = row->shown().key;
  }
  const std::size_t before = rows_.size();
  while (rows_.size() > texts.size()) {
    // It may be the sender of the signal that led here.
    rows_.back()->hide();
    rows_.back()->deleteLater();
    column_->removeWidget(rows_.back());
    rows_.pop_back();
  }
  while (rows_.size() < texts.size()) {
    auto* const row = new RowButton(this);
    column_->addWidget(row);
    rows_.push_back(row);
    connect(row, &QAbstractButton::clicked, this, [this, row] { Q_EMIT chosen(row->shown().key); });
    connect(row, &RowButton::remove_wanted, this,
            [this, row] { Q_EMIT remove_wanted(row->shown().key); });
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    rows_[i]->set(texts[i]);
    if (!focused.isEmpty() && texts[i].key == focused) rows_[i]->setFocus();
  }
  if (rows_.size() == before) return;
  updateGeometry();
  Q_EMIT resized();
}

}  // namespace rpcrdma::gui
