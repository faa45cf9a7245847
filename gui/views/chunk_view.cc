// Lays out the chunks of a Call, one line for each segment, and paints RDMA operations to scale.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/chunk_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kChunksMargin = 10;

QString bytes_text(std::uint64_t bytes) {
  return QString::fromStdString(base::format_bytes(bytes));
}

QString list_name(ChunkPicture::List list) {
  switch (list) {
    case ChunkPicture::List::kRead:
      return QObject::tr("Read chunk");
    case ChunkPicture::List::kWrite:
      return QObject::tr("Write chunk");
    case ChunkPicture::List::kReply:
      return QObject::tr("Reply chunk");
    case ChunkPicture::List::kReplyRead:
      return QObject::tr("The Reply's Read chunk");
  }
  return {};
}

QString operations_text(const ChunkPicture::Chunk& chunk) {
  std::size_t reads = 0;
  std::size_t writes = 0;
  for (const ChunkPicture::Segment& s : chunk.segments) {
    for (const ChunkPicture::Operation& o : s.operations) ++(o.read ? reads : writes);
  }
  const auto counted = [](std::size_t count, const QString& name) {
    return QString("%1 %2%3").arg(count).arg(name, count == 1 ? "" : "s");
  };
  if (reads + writes == 0) return QObject::tr("no RDMA operation");
  QStringList words;
  if (reads != 0) words << counted(reads, "RDMA Read");
  if (writes != 0) words << counted(writes, "RDMA Write");
  return words.join(QObject::tr(" and "));
}

QString segments_text(const ChunkPicture::Chunk& chunk) {
  return chunk.segments.size() == 1 ? QObject::tr("1 segment")
                                    : QObject::tr("%1 segments").arg(chunk.segments.size());
}

QString segment_text(const ChunkPicture::Segment& s) {
  return QObject::tr("Handle 0x%1, offset 0x%2\n%3, %4 moved")
      .arg(s.handle, 8, 16, QChar('0'))
      .arg(s.offset, 16, 16, QChar('0'))
      .arg(bytes_text(s.length), bytes_text(s.moved));
}

QString chunk_text(const ChunkPicture::Chunk& chunk) {
  std::uint64_t length = 0;
  std::uint64_t moved = 0;
  for (const ChunkPicture::Segment& s : chunk.segments) {
    length += s.length;
    moved += s.moved;
  }
  QString text = list_name(chunk.list);
  if (chunk.list != ChunkPicture::List::kReply) text += QString(" %1").arg(chunk.index);
  if (chunk.list == ChunkPicture::List::kRead || chunk.list == ChunkPicture::List::kReplyRead) {
    text += QObject::tr(" at position %1").arg(chunk.position);
  }
  if (moved == 0) {
    return text +
           QObject::tr(": %1 in %2, nothing moved").arg(bytes_text(length), segments_text(chunk));
  }
  return text + QObject::tr(": %1 in %2, %3 moved in %4")
                    .arg(bytes_text(length), segments_text(chunk), bytes_text(moved),
                         operations_text(chunk));
}

QString operation_text(const ChunkPicture::Segment& s, const ChunkPicture::Operation& o) {
  QString text = QObject::tr(
                     "%1 of %2 at offset %3 of handle 0x%4\n%5 seen, frames %6 to %7, took "
                     "%8")
                     .arg(o.read ? "RDMA Read" : "RDMA Write", bytes_text(o.length))
                     .arg(o.offset)
                     .arg(s.handle, 8, 16, QChar('0'))
                     .arg(bytes_text(o.bytes))
                     .arg(o.first_frame)
                     .arg(o.last_frame)
                     .arg(QString::fromStdString(base::format_duration(o.last_ns - o.first_ns)));
  if (!o.complete) text += QObject::tr("\nPart of it is missing from the capture");
  if (o.suspect) text += QObject::tr("\nA packet of it has a wrong ICRC");
  if (o.sent_again) text += QObject::tr("\nPackets of it were retransmitted");
  return text;
}

}  // namespace

ChunkView::ChunkView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Chunks of the Call"));
}

void ChunkView::set_picture(ChunkPicture picture) {
  picture_ = std::move(picture);
  chosen_.reset();
  setAccessibleDescription(tr("%1, chunks: %2").arg(picture_.title).arg(picture_.chunks.size()));
  verticalScrollBar()->setValue(0);
  layout();
}

int ChunkView::row_height() const {
  return fontMetrics().height() + 8;
}

QRect ChunkView::bar(int y) const {
  const int left = kChunksMargin + fontMetrics().horizontalAdvance("0x00000000  ");
  const int right =
      viewport()->width() - kChunksMargin - fontMetrics().horizontalAdvance("000.0 MiB ");
  return {left, y + 3, std::max(40, right - left), row_height() - 6};
}

// Each chunk takes one line of text and one line for each segment, below the title.
int ChunkView::y_of(std::size_t chunk, std::size_t segment) const {
  std::size_t lines = 1;
  for (std::size_t c = 0; c < chunk; ++c) lines += 1 + picture_.chunks[c].segments.size();
  lines += 1 + segment;
  return (static_cast<int>(lines) - verticalScrollBar()->value()) * row_height();
}

std::uint64_t ChunkView::longest() const {
  std::uint64_t most = 1;
  for (const auto& chunk : picture_.chunks) {
    for (const auto& s : chunk.segments) most = std::max(most, s.length);
  }
  return most;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> ChunkView::gaps(
    const ChunkPicture::Segment& segment) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;
  for (const auto& o : segment.operations) {
    // An operation can extend beyond its segment.
    const std::uint64_t from = std::min(o.offset, segment.length);
    const std::uint64_t to = from + std::min(o.bytes, segment.length - from);
    if (to > from) moved.emplace_back(from, to);
  }
  std::sort(moved.begin(), moved.end());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> open;
  std::uint64_t at = 0;
  for (const auto& [from, to] : moved) {
    if (from > at) open.emplace_back(at, from);
    at = std::max(at, to);
  }
  if (at < segment.length) open.emplace_back(at, segment.length);
  return open;
}

QRect ChunkView::rect_of(std::size_t chunk, std::size_t segment, std::size_t operation) const {
  const ChunkPicture::Segment& s = picture_.chunks[chunk].segments[segment];
  const ChunkPicture::Operation& o = s.operations[operation];
  const QRect all = bar(y_of(chunk, segment));
  const double scale = static_cast<double>(all.width()) / static_cast<double>(longest());
  const auto x = [&](std::uint64_t byte) {
    return all.left() + static_cast<int>(static_cast<double>(byte) * scale);
  };
  const std::uint64_t begin = std::min(o.offset, s.length);
  const std::uint64_t end = begin + std::min(std::max(o.bytes, o.length), s.length - begin);
  const int from = x(begin);
  return {from, all.top(), std::max(3, x(end) - from), all.height()};
}

void ChunkView::layout() {
  std::size_t lines = 1;
  for (const auto& chunk : picture_.chunks) lines += 1 + chunk.segments.size();
  const int page = std::max(1, viewport()->height() / row_height());
  verticalScrollBar()->setPageStep(page);
  verticalScrollBar()->setRange(
      0, std::max(0, static_cast<int>(std::min<std::size_t>(lines, INT_MAX)) - page));
  viewport()->update();
}

void ChunkView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layout();
}

void ChunkView::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), palette().base());
  const int height = row_height();
  const int bottom = viewport()->height();
  const int scrolled = verticalScrollBar()->value() * height;
  const auto words = [&](int y, const QString& text, bool bold) {
    QFont font = painter.font();
    font.setBold(bold);
    painter.setFont(font);
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QRect(kChunksMargin, y, viewport()->width() - 2 * kChunksMargin, height),
                     Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetrics(font).elidedText(text, Qt::ElideRight,
                                                   viewport()->width() - 2 * kChunksMargin));
    font.setBold(false);
    painter.setFont(font);
  };
  words(-scrolled, picture_.title, true);
  const double scale = static_cast<double>(bar(0).width()) / static_cast<double>(longest());
  for (std::size_t c = 0; c < picture_.chunks.size(); ++c) {
    const ChunkPicture::Chunk& chunk = picture_.chunks[c];
    const int head = y_of(c, 0) - height;
    if (head > bottom) break;
    words(head, chunk_text(chunk), false);
    for (std::size_t n = 0; n < chunk.segments.size(); ++n) {
      const int y = y_of(c, n);
      if (y + height < 0) continue;
      if (y > bottom) break;
      const ChunkPicture::Segment& s = chunk.segments[n];
      const QRect all = bar(y);
      const QRect own(all.left(), all.top(),
                      std::max(3, static_cast<int>(static_cast<double>(s.length) * scale)),
                      all.height());
      painter.setPen(palette().color(QPalette::PlaceholderText));
      painter.drawText(QRect(kChunksMargin, y, all.left() - kChunksMargin, height),
                       Qt::AlignVCenter, QString("0x%1").arg(s.handle, 8, 16, QChar('0')));
      painter.drawText(QRect(own.right() + 6, y, viewport()->width() - own.right() - 8, height),
                       Qt::AlignVCenter, bytes_text(s.length));
      painter.fillRect(own, tint(palette(), palette().color(QPalette::Text), 0.06));
      // Hatches the bytes that no operation moved.
      const QBrush hatched(ink(palette(), Ink::kStall), Qt::BDiagPattern);
      for (const auto& [from, to] : gaps(s)) {
        const int x = own.left() + static_cast<int>(static_cast<double>(from) * scale);
        const int end = own.left() + static_cast<int>(static_cast<double>(to) * scale);
        painter.fillRect(
            QRect(x, own.top(), std::max(1, end - x), own.height()),
            s.operations.empty() ? QBrush(ink(palette(), Ink::kEvent), Qt::BDiagPattern) : hatched);
      }
      for (std::size_t i = 0; i < s.operations.size(); ++i) {
        const ChunkPicture::Operation& o = s.operations[i];
        const QRect box = rect_of(c, n, i);
        const QColor colour = ink(palette(), o.read ? Ink::kRead : Ink::kWrite);
        painter.fillRect(box, tint(palette(), colour, o.complete ? 0.75 : 0.35));
        painter.setPen(QPen(o.suspect ? severity_colour(palette(), 0) : colour, 1,
                            o.sent_again ? Qt::DashLine : Qt::SolidLine));
        painter.drawRect(box.adjusted(0, 0, -1, -1));
        if (o.sent_again) {
          painter.fillRect(QRect(box.left(), box.bottom() - 3, box.width(), 3),
                           severity_colour(palette(), 1));
        }
        if (chosen_ == Place{c, n, i}) {
          painter.setPen(QPen(palette().color(QPalette::Text), 2));
          painter.drawRect(box.adjusted(1, 1, -2, -2));
        }
      }
      painter.setPen(palette().color(QPalette::Text));
      painter.drawRect(own.adjusted(0, 0, -1, -1));
    }
  }
  if (picture_.chunks.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect().adjusted(8, 8 + height, -8, -8),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     picture_.title.isEmpty() ? tr("Select a message") : tr("It has no chunks"));
  }
}

std::vector<ChunkView::Place> ChunkView::places() const {
  std::vector<Place> all;
  for (std::size_t c = 0; c < picture_.chunks.size(); ++c) {
    for (std::size_t s = 0; s < picture_.chunks[c].segments.size(); ++s) {
      for (std::size_t o = 0; o < picture_.chunks[c].segments[s].operations.size(); ++o) {
        all.push_back({c, s, o});
      }
    }
  }
  return all;
}

std::optional<ChunkView::Place> ChunkView::at(const QPoint& point) const {
  // The last one painted is on top.
  std::optional<Place> found;
  for (const Place& p : places()) {
    if (rect_of(p.chunk, p.segment, p.operation).contains(point)) found = p;
  }
  return found;
}

QString ChunkView::text_at(const QPoint& point) const {
  if (const auto place = at(point)) {
    const auto& s = picture_.chunks[place->chunk].segments[place->segment];
    return operation_text(s, s.operations[place->operation]) + "\n\n" + segment_text(s);
  }
  for (std::size_t c = 0; c < picture_.chunks.size(); ++c) {
    for (std::size_t n = 0; n < picture_.chunks[c].segments.size(); ++n) {
      const int y = y_of(c, n);
      if (point.y() >= y && point.y() < y + row_height()) {
        return segment_text(picture_.chunks[c].segments[n]);
      }
    }
  }
  return {};
}

void ChunkView::choose(const Place& place) {
  chosen_ = place;
  viewport()->update();
  const auto& s = picture_.chunks[place.chunk].segments[place.segment];
  setAccessibleDescription(operation_text(s, s.operations[place.operation]));
}

void ChunkView::mousePressEvent(QMouseEvent* event) {
  const auto place = at(event->position().toPoint());
  if (!place) return;
  choose(*place);
  const auto& s = picture_.chunks[place->chunk].segments[place->segment];
  Q_EMIT frame_selected(s.operations[place->operation].last_frame);
}

void ChunkView::keyPressEvent(QKeyEvent* event) {
  const std::vector<Place> all = places();
  const int by = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down ? 1
                 : event->key() == Qt::Key_Left || event->key() == Qt::Key_Up  ? -1
                                                                               : 0;
  if (all.empty() || by == 0) return QAbstractScrollArea::keyPressEvent(event);
  const auto it = chosen_ ? std::find(all.begin(), all.end(), *chosen_) : all.end();
  const auto now = it == all.end() ? (by > 0 ? -1 : std::ssize(all)) : it - all.begin();
  choose(
      all[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + by, 0, std::ssize(all) - 1))]);
  const int y = y_of(chosen_->chunk, chosen_->segment);
  if (y < 0 || y + row_height() > viewport()->height()) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() + y / row_height() -
                                  viewport()->height() / row_height() / 2);
  }
  viewport()->update();
  const auto& s = picture_.chunks[chosen_->chunk].segments[chosen_->segment];
  Q_EMIT frame_selected(s.operations[chosen_->operation].last_frame);
}

bool ChunkView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* const help = static_cast<QHelpEvent*>(event);
    const QString text = text_at(help->pos());
    if (text.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), tool_tip(text), this);
    }
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace rpcrdma::gui
