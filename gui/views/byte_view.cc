// Paints offsets, hexadecimal digits and ASCII; maps the mouse to bytes and fields.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontDatabase>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include <rpcrdma/views/byte_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kBytesMargin = 6;

std::size_t size_of(const QByteArray& bytes) {
  return static_cast<std::size_t>(bytes.size());
}

}  // namespace

ByteView::ByteView(QWidget* parent) : QAbstractScrollArea(parent) {
  // Only the face: the size is that of the window, whatever it becomes.
  QFont face;
  face.setFamilies(QFontDatabase::systemFont(QFontDatabase::FixedFont).families());
  face.setStyleHint(QFont::Monospace);
  setFont(face);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Bytes"));
  viewport()->setMouseTracking(true);
  viewport()->setCursor(Qt::IBeamCursor);
}

int ByteView::line_height() const {
  return fontMetrics().height() + 2;
}
int ByteView::character() const {
  return fontMetrics().horizontalAdvance('0');
}
int ByteView::digits() const {
  return size_of(bytes_) > 0xffff ? 8 : 4;
}

int ByteView::bytes_per_line() const {
  const int free = viewport()->width() / std::max(1, character()) - digits() - 4;
  return free >= 16 * 4 + 1 ? 16 : free >= 8 * 4 ? 8 : 4;
}

int ByteView::hex_x(int column) const {
  const int middle = column >= 8 ? 1 : 0;
  return kBytesMargin + (digits() + 2 + column * 3 + middle) * character();
}
int ByteView::text_x(int column) const {
  const int per = bytes_per_line();
  return kBytesMargin + (digits() + 2 + per * 3 + (per > 8 ? 1 : 0) + 1 + column) * character();
}

QRect ByteView::rect_of(std::size_t offset) const {
  const auto per = static_cast<std::size_t>(bytes_per_line());
  const auto line = static_cast<int>(offset / per) - verticalScrollBar()->value();
  return {hex_x(static_cast<int>(offset % per)), line * line_height(), 2 * character(),
          line_height()};
}

void ByteView::set_bytes(const QByteArray& bytes) {
  bytes_ = bytes;
  fields_.clear();
  hovered_ = nullptr;
  marked_ = length_ = cursor_ = 0;
  verticalScrollBar()->setValue(0);
  layout();
}

void ByteView::set_fields(std::vector<ByteField> fields) {
  fields_ = std::move(fields);
  hovered_ = nullptr;
}

// The first of these bytes, as a screen reader speaks them.
QString ByteView::spoken(std::size_t offset, std::size_t length) const {
  constexpr std::size_t kMost = 32;
  return QString::fromLatin1(
      bytes_.mid(static_cast<qsizetype>(offset), static_cast<qsizetype>(std::min(length, kMost)))
          .toHex(' '));
}

void ByteView::set_marked(std::size_t offset, std::size_t length) {
  const std::size_t size = size_of(bytes_);
  marked_ = std::min(offset, size);
  length_ = std::min(length, size - marked_);
  if (length_ != 0) {
    cursor_ = marked_;
    show_byte(marked_ + length_ - 1);
    show_byte(marked_);
    setAccessibleDescription(tr("Bytes from offset %1, length %2: %3")
                                 .arg(marked_)
                                 .arg(length_)
                                 .arg(spoken(marked_, length_)));
  }
  viewport()->update();
}

void ByteView::layout() {
  const auto per = static_cast<std::size_t>(bytes_per_line());
  const auto lines =
      static_cast<int>(std::min<std::size_t>((size_of(bytes_) + per - 1) / per, INT_MAX));
  const int page = std::max(1, viewport()->height() / line_height());
  verticalScrollBar()->setPageStep(page);
  verticalScrollBar()->setRange(0, std::max(0, lines - page));
  viewport()->update();
}

void ByteView::show_byte(std::size_t offset) {
  const auto line = static_cast<int>(offset / static_cast<std::size_t>(bytes_per_line()));
  const int page = std::max(1, viewport()->height() / line_height());
  QScrollBar* const bar = verticalScrollBar();
  if (line < bar->value()) bar->setValue(line);
  if (line >= bar->value() + page) bar->setValue(line - page + 1);
}

void ByteView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layout();
}

void ByteView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) layout();
}

void ByteView::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), palette().base());
  const auto per = static_cast<std::size_t>(bytes_per_line());
  const int height = line_height();
  const int baseline = fontMetrics().ascent() + 1;
  const auto first = static_cast<std::size_t>(verticalScrollBar()->value());
  const QColor marked = palette().color(QPalette::Highlight);
  const QColor hovered = tint(palette(), marked, 0.25);
  const std::size_t size = size_of(bytes_);
  for (int y = 0; y < viewport()->height(); y += height) {
    const std::size_t line = first + static_cast<std::size_t>(y / height);
    const std::size_t begin = line * per;
    if (begin >= size) break;
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(kBytesMargin, y + baseline,
                     QString("%1").arg(begin, digits(), 16, QChar('0')));
    for (std::size_t i = begin; i < std::min(size, begin + per); ++i) {
      const int column = static_cast<int>(i - begin);
      const auto value = static_cast<unsigned char>(bytes_[static_cast<qsizetype>(i)]);
      const bool in = i >= marked_ && i < marked_ + length_;
      const bool under =
          hovered_ != nullptr && i >= hovered_->offset && i < hovered_->offset + hovered_->length;
      if (in || under) {
        const bool goes_on =
            i + 1 < begin + per &&
            (in ? i + 1 < marked_ + length_ : i + 1 < hovered_->offset + hovered_->length);
        const int wide = goes_on ? hex_x(column + 1) - hex_x(column) : 2 * character();
        painter.fillRect(QRect(hex_x(column), y, wide, height), in ? marked : hovered);
        painter.fillRect(QRect(text_x(column), y, character(), height), in ? marked : hovered);
      }
      painter.setPen(palette().color(in ? QPalette::HighlightedText : QPalette::Text));
      painter.drawText(hex_x(column), y + baseline, QString("%1").arg(value, 2, 16, QChar('0')));
      const bool printable = value >= 0x20 && value < 0x7f;
      painter.drawText(text_x(column), y + baseline,
                       printable ? QString(QChar(value)) : QString(QChar(0xb7)));
      if (i == cursor_ && hasFocus()) {
        painter.drawRect(QRect(hex_x(column), y, 2 * character(), height - 1));
      }
    }
  }
  if (size == 0) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect().adjusted(8, 8, -8, -8),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, tr("No bytes"));
  }
}

std::ptrdiff_t ByteView::byte_at(const QPoint& at) const {
  const int per = bytes_per_line();
  const std::size_t line = static_cast<std::size_t>(verticalScrollBar()->value()) +
                           static_cast<std::size_t>(std::max(0, at.y()) / line_height());
  int column = -1;
  for (int i = 0; i < per; ++i) {
    const bool hex =
        at.x() >= hex_x(i) - character() / 2 && at.x() < hex_x(i) + 5 * character() / 2;
    const bool text = at.x() >= text_x(i) && at.x() < text_x(i) + character();
    if (hex || text) {
      column = i;
      break;
    }
  }
  const std::size_t offset =
      line * static_cast<std::size_t>(per) + static_cast<std::size_t>(std::max(0, column));
  if (column < 0 || offset >= size_of(bytes_)) return -1;
  return static_cast<std::ptrdiff_t>(offset);
}

const ByteField* ByteView::field_of(std::size_t offset) const {
  const ByteField* best = nullptr;
  for (const ByteField& f : fields_) {
    if (offset < f.offset || offset >= f.offset + f.length) continue;
    // Among fields of the same length, the later one is deeper in the tree.
    if (best == nullptr || f.length <= best->length) best = &f;
  }
  return best;
}

void ByteView::choose(std::size_t offset) {
  cursor_ = offset;
  show_byte(offset);
  setAccessibleDescription(tr("Offset %1: %2").arg(offset).arg(spoken(offset, 1)));
  viewport()->update();
  if (const ByteField* const field = field_of(offset)) Q_EMIT field_selected(field->id);
}

void ByteView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const std::ptrdiff_t at = byte_at(event->position().toPoint());
  if (at >= 0) choose(static_cast<std::size_t>(at));
}

void ByteView::mouseMoveEvent(QMouseEvent* event) {
  const std::ptrdiff_t at = byte_at(event->position().toPoint());
  const ByteField* const now = at < 0 ? nullptr : field_of(static_cast<std::size_t>(at));
  if (now == hovered_) return;
  hovered_ = now;
  viewport()->update();
}

void ByteView::leaveEvent(QEvent* event) {
  QAbstractScrollArea::leaveEvent(event);
  hovered_ = nullptr;
  viewport()->update();
}

void ByteView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(copy(CopyAs::kHex));
    return;
  }
  const auto size = static_cast<std::ptrdiff_t>(bytes_.size());
  if (size == 0) return QAbstractScrollArea::keyPressEvent(event);
  const std::ptrdiff_t per = bytes_per_line();
  const std::ptrdiff_t page = std::max(1, viewport()->height() / line_height() - 1);
  auto at = static_cast<std::ptrdiff_t>(cursor_);
  switch (event->key()) {
    case Qt::Key_Left:
      --at;
      break;
    case Qt::Key_Right:
      ++at;
      break;
    case Qt::Key_Up:
      at -= per;
      break;
    case Qt::Key_Down:
      at += per;
      break;
    case Qt::Key_PageUp:
      at -= per * page;
      break;
    case Qt::Key_PageDown:
      at += per * page;
      break;
    case Qt::Key_Home:
      at = 0;
      break;
    case Qt::Key_End:
      at = size - 1;
      break;
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
  choose(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, size - 1)));
}

QString ByteView::copy(CopyAs as) const {
  const QByteArray part =
      length_ != 0 ? bytes_.mid(static_cast<qsizetype>(marked_), static_cast<qsizetype>(length_))
                   : bytes_;
  switch (as) {
    case CopyAs::kHex:
      return QString::fromLatin1(part.toHex(' '));
    case CopyAs::kText: {
      QString text;
      for (const char c : part) text += c >= 0x20 && c < 0x7f ? QChar(c) : QChar('.');
      return text;
    }
    case CopyAs::kArray: {
      QString text = "{";
      for (qsizetype i = 0; i < part.size(); ++i) {
        if (i != 0) text += i % 12 == 0 ? ",\n " : ", ";
        text += QString("0x%1").arg(static_cast<unsigned char>(part[i]), 2, 16, QChar('0'));
      }
      return text + "}";
    }
  }
  return {};
}

void ByteView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu;
  const auto add = [&](const QString& title, CopyAs as) {
    menu.addAction(title, this, [this, as] { QApplication::clipboard()->setText(copy(as)); })
        ->setEnabled(!bytes_.isEmpty());
  };
  add(tr("Copy as &hexadecimal digits"), CopyAs::kHex);
  add(tr("Copy as &text"), CopyAs::kText);
  add(tr("Copy as a &C array"), CopyAs::kArray);
  menu.exec(event->globalPos());
}

}  // namespace rpcrdma::gui
