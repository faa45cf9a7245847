// Lays out messages, RDMA operations and events as rows between two life lines, and paints them.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/ladder_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kLadderMargin = 10;

Ink ink_of(const LadderItem& item) {
  switch (item.kind) {
    case LadderItem::Kind::kCall:
      return item.reverse ? Ink::kReverseCall : Ink::kCall;
    case LadderItem::Kind::kReply:
      return item.reverse ? Ink::kReverseReply : Ink::kReply;
    case LadderItem::Kind::kError:
      return Ink::kError;
    case LadderItem::Kind::kControl:
      return Ink::kControl;
    case LadderItem::Kind::kRead:
      return Ink::kRead;
    case LadderItem::Kind::kWrite:
      return Ink::kWrite;
    case LadderItem::Kind::kSetUp:
    case LadderItem::Kind::kRecorded:
      return Ink::kEvent;
  }
  return Ink::kEvent;
}

void arrow_head(QPainter& painter, int x, int y, bool to_right) {
  const int by = to_right ? -7 : 7;
  QPainterPath path;
  path.moveTo(x, y);
  path.lineTo(x + by, y - 4);
  path.lineTo(x + by, y + 4);
  path.closeSubpath();
  painter.fillPath(path, painter.pen().color());
}

}  // namespace

LadderView::LadderView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Messages and RDMA operations between the peers"));
}

void LadderView::set_peers(const QString& left, const QString& right) {
  left_ = left;
  right_ = right;
  viewport()->update();
}

void LadderView::set_items(std::vector<LadderItem> items, std::int64_t start_ns) {
  setting_ = true;
  // Items are added and removed in front: this one keeps its place on screen.
  const auto first = static_cast<std::size_t>(verticalScrollBar()->value());
  std::size_t kept = selected_ != 0 ? find(selected_, 0) : items_.size();
  if (kept == items_.size()) kept = std::min(first, kept);
  const LadderItem before = kept < items_.size() ? items_[kept] : LadderItem{};
  const LadderItem current = current_ < items_.size() ? items_[current_] : LadderItem{};
  items_ = std::move(items);
  start_ns_ = start_ns;
  layout();
  const std::size_t now = find(before.message, before.frame);
  if (now != items_.size()) {
    verticalScrollBar()->setValue(static_cast<int>(now) - static_cast<int>(kept) +
                                  static_cast<int>(first));
  }
  current_ = find(current.message, current.frame);
  if (current_ == items_.size()) current_ = 0;
  const std::size_t selected = selected_ != 0 ? find(selected_, 0) : items_.size();
  exchange_ = selected != items_.size() ? items_[selected].exchange : 0;
  setting_ = false;
  viewport()->update();
}

std::size_t LadderView::find(quint64 message, quint64 frame) const {
  if (message == 0 && frame == 0) return items_.size();
  const auto it = std::find_if(items_.begin(), items_.end(), [&](const LadderItem& i) {
    return message != 0 ? i.message == message : i.message == 0 && i.frame == frame;
  });
  return static_cast<std::size_t>(it - items_.begin());
}

void LadderView::set_selected(quint64 message) {
  selected_ = message;
  exchange_ = 0;
  if (const std::size_t i = find(message, 0); i != items_.size()) {
    exchange_ = items_[i].exchange;
    current_ = i;
    const int page = verticalScrollBar()->pageStep();
    const int at = static_cast<int>(i);
    const int first = verticalScrollBar()->value();
    setting_ = true;
    if (at < first || at >= first + page) verticalScrollBar()->setValue(at - page / 3);
    setting_ = false;
  }
  viewport()->update();
}

int LadderView::row_height() const {
  return fontMetrics().height() * 2 + 4;
}
int LadderView::top() const {
  return fontMetrics().height() + 12;
}

void LadderView::layout() {
  const int page = std::max(1, (viewport()->height() - top()) / row_height());
  verticalScrollBar()->setPageStep(page);
  verticalScrollBar()->setRange(
      0, std::max(0, static_cast<int>(std::min<std::size_t>(items_.size(), INT_MAX)) - page));
  viewport()->update();
}

void LadderView::scrollContentsBy(int dx, int dy) {
  QAbstractScrollArea::scrollContentsBy(dx, dy);
  viewport()->update();
  const QScrollBar& bar = *verticalScrollBar();
  if (setting_ || dy == 0) return;
  if (bar.value() == bar.minimum()) Q_EMIT more_wanted(true);
  if (bar.value() == bar.maximum()) Q_EMIT more_wanted(false);
}

void LadderView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  setting_ = true;
  layout();
  setting_ = false;
}

QRect LadderView::rect_of(std::size_t item) const {
  return {0, top() + (static_cast<int>(item) - verticalScrollBar()->value()) * row_height(),
          viewport()->width(), row_height()};
}

void LadderView::draw(QPainter& painter, const LadderItem& item, int y,
                      const LadderItem* before) const {
  const int wide = viewport()->width();
  const int times = fontMetrics().horizontalAdvance("+000.00 ms  ");
  const int left = kLadderMargin + times + 6;
  const int right = std::max(left + 60, wide - kLadderMargin - 16);
  const int height = row_height();
  const int line = y + height - 7;
  const bool of_selected = exchange_ != 0 && item.exchange == exchange_;
  if (item.message != 0 && item.message == selected_) {
    painter.fillRect(QRect(left + 2, y, right - left - 3, height),
                     tint(palette(), palette().color(QPalette::Highlight), 0.30));
  } else if (of_selected) {
    painter.fillRect(QRect(left + 2, y, right - left - 3, height),
                     tint(palette(), palette().color(QPalette::Highlight), 0.10));
  }
  // Life lines and time.
  painter.setPen(QPen(line_colour(palette()), 1));
  painter.drawLine(left, y, left, y + height);
  painter.drawLine(right, y, right, y + height);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  const std::int64_t since = item.from_ns - (before != nullptr ? before->from_ns : start_ns_);
  const QString time =
      before == nullptr
          ? QString::fromStdString(base::format_duration(since))
          : "+" + QString::fromStdString(base::format_duration(std::max<std::int64_t>(0, since)));
  painter.drawText(QRect(kLadderMargin, y, times, height - 4), Qt::AlignRight | Qt::AlignBottom,
                   time);
  const QColor colour = ink(palette(), ink_of(item));
  const bool to_right = item.side == 0;
  const QRect label(left + 12, y + 1, right - left - 24, fontMetrics().height());
  const auto align = Qt::AlignVCenter | (to_right ? Qt::AlignLeft : Qt::AlignRight);
  QFont font = painter.font();
  font.setBold(of_selected);
  painter.setFont(font);
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(label, static_cast<int>(align),
                   QFontMetrics(font).elidedText(item.label, Qt::ElideRight, label.width()));
  font.setBold(false);
  painter.setFont(font);
  const bool header = item.message != 0;
  QPen pen(colour, header ? 2 : 1, item.sent_again ? Qt::DashLine : Qt::SolidLine);
  painter.setPen(pen);
  switch (item.kind) {
    case LadderItem::Kind::kRecorded: {
      const int x = to_right ? left : right;
      painter.setBrush(colour);
      painter.drawEllipse(QPoint(x, line - height / 4), 3, 3);
      painter.setBrush(Qt::NoBrush);
      break;
    }
    case LadderItem::Kind::kRead: {
      // A thin arrow for the request, and a thick one for its response.
      const int asks = to_right ? left : right;
      const int answers = to_right ? right : left;
      painter.setPen(QPen(colour, 1, Qt::DotLine));
      painter.drawLine(asks, line - 5, answers, line - 5);
      painter.setPen(
          QPen(colour, 2, item.sent_again || item.incomplete ? Qt::DashLine : Qt::SolidLine));
      painter.drawLine(answers, line, asks, line);
      arrow_head(painter, asks, line, !to_right);
      break;
    }
    default: {
      const int from = to_right ? left : right;
      const int to = to_right ? right : left;
      if (item.incomplete && !item.sent_again) {
        pen.setStyle(Qt::DashDotLine);
        painter.setPen(pen);
      }
      painter.drawLine(from, line, to, line);
      if (item.kind == LadderItem::Kind::kWrite) painter.drawLine(from, line - 3, to, line - 3);
      arrow_head(painter, to, line, to_right);
      break;
    }
  }
  if (item.severity >= 0) {
    painter.setBrush(severity_colour(palette(), item.severity));
    painter.setPen(Qt::NoPen);
    painter.drawEllipse(QPoint(right + 10, line - height / 4), 5, 5);
    painter.setBrush(Qt::NoBrush);
  }
}

void LadderView::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(viewport());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(viewport()->rect(), palette().base());
  const auto first = static_cast<std::size_t>(verticalScrollBar()->value());
  for (std::size_t i = first; i < items_.size(); ++i) {
    const QRect at = rect_of(i);
    if (at.top() > viewport()->height()) break;
    draw(painter, items_[i], at.top(), i == 0 ? nullptr : &items_[i - 1]);
    if (i == current_ && hasFocus()) {
      painter.setPen(QPen(palette().color(QPalette::Text), 1, Qt::DotLine));
      painter.drawRect(at.adjusted(1, 0, -2, -1));
    }
  }
  painter.fillRect(QRect(0, 0, viewport()->width(), top() - 2),
                   palette().color(QPalette::AlternateBase));
  painter.setPen(palette().color(QPalette::Text));
  const QRect head(kLadderMargin, 0, viewport()->width() - 2 * kLadderMargin, top() - 2);
  const int half = head.width() / 2 - 8;
  painter.drawText(head, Qt::AlignVCenter | Qt::AlignLeft,
                   fontMetrics().elidedText(left_, Qt::ElideMiddle, half));
  painter.drawText(head, Qt::AlignVCenter | Qt::AlignRight,
                   fontMetrics().elidedText(right_, Qt::ElideMiddle, half));
  if (items_.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect().adjusted(8, top() + 8, -8, -8),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     tr("Select a connection to see its messages and RDMA operations"));
  }
}

void LadderView::choose(std::size_t item) {
  if (item >= items_.size()) return;
  current_ = item;
  const int page = verticalScrollBar()->pageStep();
  const int at = static_cast<int>(item);
  if (at < verticalScrollBar()->value()) verticalScrollBar()->setValue(at);
  if (at >= verticalScrollBar()->value() + page) verticalScrollBar()->setValue(at - page + 1);
  viewport()->update();
  setAccessibleDescription(items_[item].label + ". " + items_[item].detail);
  if (items_[item].message != 0) {
    Q_EMIT message_selected(items_[item].message);
  } else {
    Q_EMIT frame_selected(items_[item].frame);
  }
}

void LadderView::mousePressEvent(QMouseEvent* event) {
  const int y = event->position().toPoint().y() - top();
  if (y < 0 || event->button() != Qt::LeftButton) return;
  choose(static_cast<std::size_t>(verticalScrollBar()->value() + y / row_height()));
}

void LadderView::keyPressEvent(QKeyEvent* event) {
  if (items_.empty()) return QAbstractScrollArea::keyPressEvent(event);
  const auto last = std::ssize(items_) - 1;
  auto at = static_cast<std::ptrdiff_t>(current_);
  switch (event->key()) {
    case Qt::Key_Up:
      --at;
      break;
    case Qt::Key_Down:
      ++at;
      break;
    case Qt::Key_PageUp:
      at -= verticalScrollBar()->pageStep();
      break;
    case Qt::Key_PageDown:
      at += verticalScrollBar()->pageStep();
      break;
    case Qt::Key_Home:
      at = 0;
      break;
    case Qt::Key_End:
      at = last;
      break;
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
  choose(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, last)));
}

bool LadderView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* const help = static_cast<QHelpEvent*>(event);
    const int y = help->pos().y() - top();
    const auto item =
        static_cast<std::size_t>(verticalScrollBar()->value() + std::max(0, y) / row_height());
    if (y >= 0 && item < items_.size()) {
      QToolTip::showText(help->globalPos(), tool_tip(items_[item].detail), this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace rpcrdma::gui
