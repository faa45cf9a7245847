// Paints one row for each bar, grouped by lane, on a linear axis of time.
#include "waterfall.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <utility>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kWaterfallMargin = 8;
constexpr int kLeastBar = 3;       // pixels: a moment
constexpr double kFoldFrom = 0.7;  // of the time, without a step: it is drawn shorter
constexpr double kFolded = 0.25;   // of the width

QString lane_name(WaterfallLane lane) {
  switch (lane) {
    case WaterfallLane::kClient:
      return Waterfall::tr("client");
    case WaterfallLane::kWire:
      return Waterfall::tr("wire");
    case WaterfallLane::kServer:
      return Waterfall::tr("server");
  }
  return {};
}

Ink bar_ink(WaterfallBar::Kind kind) {
  switch (kind) {
    case WaterfallBar::Kind::kWaiting:
      return Ink::kWaiting;
    case WaterfallBar::Kind::kSending:
    case WaterfallBar::Kind::kCall:
      return Ink::kCall;
    case WaterfallBar::Kind::kReply:
    case WaterfallBar::Kind::kResponse:
      return Ink::kReply;
    case WaterfallBar::Kind::kError:
      return Ink::kError;
    case WaterfallBar::Kind::kRead:
      return Ink::kRead;
    case WaterfallBar::Kind::kWrite:
      return Ink::kWrite;
    case WaterfallBar::Kind::kGap:
      return Ink::kStall;
    case WaterfallBar::Kind::kWork:
      return Ink::kReplyChunk;
    case WaterfallBar::Kind::kCompletion:
      return Ink::kEvent;
  }
  return Ink::kEvent;
}

void fill_bar(QPainter& painter, const QRect& box, WaterfallBar::Kind kind,
              const QPalette& palette) {
  const QColor colour = ink(palette, bar_ink(kind));
  if (kind == WaterfallBar::Kind::kGap) {
    painter.fillRect(box, tint(palette, colour, 0.15));
    painter.fillRect(box, QBrush(colour, Qt::BDiagPattern));
  } else if (kind == WaterfallBar::Kind::kResponse) {
    // Only that the Call is waited for: an outline.
    painter.fillRect(box, tint(palette, colour, 0.15));
  } else {
    painter.fillRect(box, colour);
    return;
  }
  painter.setPen(colour);
  painter.drawRect(box.adjusted(0, 0, -1, -1));
}

// Writes the label where there is more room: behind the bar, in front of it, or on it. It is
// readable on any colour.
void draw_label(QPainter& painter, const QString& label, const QRect& box, int left, int right,
                const QColor& background) {
  const QFontMetrics metrics = painter.fontMetrics();
  const int needed = metrics.horizontalAdvance(label) + 12;
  const int behind = right - box.right();
  const int before = box.left() - left;
  int x = 0;
  int room = 0;
  if (behind >= needed || (behind >= before && behind > box.width())) {
    x = box.right() + 6;
    room = behind - 8;
  } else if (before >= needed || before > box.width()) {
    room = before - 6;
    x = std::max(left, box.left() - 6 - (needed - 12));
  } else {
    x = box.left() + 6;
    room = box.width() - 8;
  }
  const QString shown = metrics.elidedText(label, Qt::ElideRight, room);
  const QRect place(x, box.top(), metrics.horizontalAdvance(shown), box.height());
  painter.fillRect(place.adjusted(-2, 1, 2, -1), background);
  painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextDontClip, shown);
}

// Two zigzag lines in the middle of a stretch that is drawn shorter than it is.
void draw_fold(QPainter& painter, double from, double to, int top, int bottom,
               const QPalette& palette) {
  const double middle = (from + to) / 2;
  constexpr int kStep = 5;
  QPolygonF left, right;
  for (int y = top, n = 0; y <= bottom; y += kStep, ++n) {
    const double x = middle + (n % 2 == 0 ? -3 : 3);
    left << QPointF(x - 3, y);
    right << QPointF(x + 3, y);
  }
  QPolygonF band = left;
  for (auto it = right.rbegin(); it != right.rend(); ++it) band << *it;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(palette.base());
  painter.drawPolygon(band);
  painter.setPen(line_colour(palette));
  painter.drawPolyline(left);
  painter.drawPolyline(right);
  painter.restore();
}

}  // namespace

Waterfall::Waterfall(Document& document, QWidget* parent)
    : QAbstractScrollArea(parent), document_(document) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMinimumHeight(8 * row_height());
  setAccessibleName(tr("Waterfall of the Call"));
  connect(&document_, &Document::excerpt_read, this, &Waterfall::refresh);
  connect(&document_, &Document::time_format_changed, viewport(), qOverload<>(&QWidget::update));
  connect(&document_, &Document::reset, this, [this] {
    picture_ = {};
    fold_from_ = fold_to_ = 0;
    current_.reset();
    stale_ = false;
    layout();
  });
}

void Waterfall::showEvent(QShowEvent* event) {
  QAbstractScrollArea::showEvent(event);
  if (stale_) refresh();
}

void Waterfall::refresh() {
  stale_ = !isVisible();
  if (stale_) return;
  const auto excerpt = document_.excerpt();
  if (excerpt == nullptr) return;
  const std::uint64_t id = document_.selected();
  const QString request = document_.store().read([id](const index::Content& c) {
    if (id == 0 || id > c.rows.size()) return QString();
    const std::optional<index::MessageRow> call = c.call_of(c.rows[id - 1]);
    return call ? one_line(QString::fromStdString(c.request(*call))) : QString();
  });
  WaterfallPicture picture = waterfall_of(*excerpt, id, request);
  const bool same = picture.call == picture_.call && picture.bars.size() == picture_.bars.size();
  picture_ = std::move(picture);
  if (!same) {
    current_.reset();
    verticalScrollBar()->setValue(0);
  }
  setAccessibleDescription(picture_.title);
  fold();
  layout();
}

int Waterfall::row_height() const {
  return fontMetrics().height() + 6;
}

int Waterfall::gutter() const {
  int wide = 0;
  for (const auto lane : {WaterfallLane::kClient, WaterfallLane::kWire, WaterfallLane::kServer}) {
    wide = std::max(wide, fontMetrics().horizontalAdvance(lane_name(lane)));
  }
  return kWaterfallMargin + wide + kWaterfallMargin;
}

// Below the title and the axis.
int Waterfall::top() const {
  return 2 * row_height() + 2 - verticalScrollBar()->value();
}

// Looks for the longest stretch in which nothing begins or ends.
void Waterfall::fold() {
  fold_from_ = fold_to_ = 0;
  std::vector<std::int64_t> steps;
  for (const WaterfallBar& b : picture_.bars) {
    steps.push_back(b.from_ns);
    steps.push_back(b.to_ns);
  }
  std::sort(steps.begin(), steps.end());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] - steps[i - 1] <= fold_to_ - fold_from_) continue;
    fold_from_ = steps[i - 1];
    fold_to_ = steps[i];
  }
  const auto all = static_cast<double>(picture_.to_ns - picture_.from_ns);
  const bool alone = fold_from_ == picture_.from_ns && fold_to_ == picture_.to_ns;
  if (alone || static_cast<double>(fold_to_ - fold_from_) < kFoldFrom * all) {
    fold_from_ = fold_to_ = 0;
  }
}

double Waterfall::x_of(std::int64_t ns) const {
  const double room = std::max(1, viewport()->width() - gutter() - kWaterfallMargin);
  const auto all =
      static_cast<double>(std::max<std::int64_t>(1, picture_.to_ns - picture_.from_ns));
  const auto since = static_cast<double>(ns - picture_.from_ns);
  if (fold_to_ == fold_from_) return gutter() + since / all * room;
  const auto folded = static_cast<double>(fold_to_ - fold_from_);
  const double scale = room * (1 - kFolded) / (all - folded);
  const auto before = static_cast<double>(fold_from_ - picture_.from_ns);
  if (ns <= fold_from_) return gutter() + since * scale;
  const double inside = std::min(since - before, folded);
  return gutter() + before * scale + inside / folded * room * kFolded +
         (since - before - inside) * scale;
}

QRect Waterfall::rect_of(std::size_t bar) const {
  const WaterfallBar& b = picture_.bars[bar];
  const int right = viewport()->width() - kWaterfallMargin;
  const int from = std::min(static_cast<int>(x_of(b.from_ns)), right - kLeastBar);
  const int to = std::max(static_cast<int>(x_of(b.to_ns)), from + kLeastBar);
  return {from, top() + static_cast<int>(bar) * row_height() + 3, to - from, row_height() - 6};
}

QString Waterfall::text_of(std::size_t bar) const {
  const WaterfallBar& b = picture_.bars[bar];
  QString text =
      lane_name(b.lane) + ": " + b.label + '\n' +
      (b.to_ns > b.from_ns
           ? tr("%1 to %2").arg(document_.time_text(b.from_ns), document_.time_text(b.to_ns))
           : tr("at %1").arg(document_.time_text(b.from_ns)));
  if (!b.detail.isEmpty()) text += '\n' + b.detail;
  return text;
}

QSize Waterfall::sizeHint() const {
  constexpr int kRows = 13;
  return {fontMetrics().averageCharWidth() * 56, kRows * row_height()};
}

void Waterfall::layout() {
  const int notes = static_cast<int>(picture_.notes.size()) * 2 * row_height();
  const int all = 2 * row_height() + static_cast<int>(picture_.bars.size()) * row_height() + notes;
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(row_height());
  verticalScrollBar()->setRange(0, std::max(0, all - viewport()->height()));
  viewport()->update();
}

void Waterfall::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layout();
}

void Waterfall::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(viewport());
  const QPalette& colours = palette();
  painter.fillRect(viewport()->rect(), colours.base());
  const QColor text = colours.color(QPalette::Text);
  const QColor quiet = tint(colours, text, 0.7);
  const QColor row_colour = tint(colours, colours.color(QPalette::Highlight), 0.25);
  const int high = row_height();
  const int wide = viewport()->width();
  const int rows_end = top() + static_cast<int>(picture_.bars.size()) * high;
  for (std::size_t i = 0; i < picture_.bars.size(); ++i) {
    const WaterfallBar& b = picture_.bars[i];
    const QRect box = rect_of(i);
    const QRect row(0, box.top() - 3, wide, high);
    if (row.bottom() < 0 || row.top() > viewport()->height()) continue;
    const bool first = i == 0 || picture_.bars[i - 1].lane != b.lane;
    if (first) {
      painter.setPen(line_colour(colours));
      painter.drawLine(0, row.top(), wide, row.top());
      painter.setPen(quiet);
      painter.drawText(QRect(kWaterfallMargin, row.top(), gutter(), high), Qt::AlignVCenter,
                       lane_name(b.lane));
    }
    if (current_ == i) painter.fillRect(row.adjusted(gutter() - 4, 1, 0, 0), row_colour);
    fill_bar(painter, box, b.kind, colours);
    if (current_ == i) {
      painter.setPen(QPen(text, hasFocus() ? 2 : 1));
      painter.drawRect(box.adjusted(-2, -2, 1, 1));
    }
  }
  if (fold_to_ != fold_from_)
    draw_fold(painter, x_of(fold_from_), x_of(fold_to_), 2 * high,
              std::min(viewport()->height(), rows_end), colours);
  painter.setPen(text);
  for (std::size_t i = 0; i < picture_.bars.size(); ++i) {
    const QRect box = rect_of(i);
    if (box.bottom() < 0 || box.top() > viewport()->height()) continue;
    draw_label(painter, picture_.bars[i].label, box, gutter(), wide,
               current_ == i ? row_colour : colours.color(QPalette::Base));
  }
  int below = rows_end + 4;
  painter.setPen(quiet);
  for (const QString& note : std::as_const(picture_.notes)) {
    const QRect room(kWaterfallMargin, below, wide - 2 * kWaterfallMargin, 4 * high);
    QRect used;
    painter.drawText(room, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, note, &used);
    below += used.height() + 2;
  }
  // Title and axis stay when the bars are scrolled.
  painter.fillRect(QRect(0, 0, wide, 2 * high + 1), colours.color(QPalette::AlternateBase));
  if (picture_.bars.empty()) {
    painter.fillRect(viewport()->rect(), colours.base());
    painter.drawText(viewport()->rect().adjusted(12, 12, -12, -12),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     picture_.notes.isEmpty()
                         ? tr("Select a message to see the steps of its Call over time.")
                         : picture_.notes.join('\n'));
  } else {
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(text);
    const QRect title(kWaterfallMargin, 0, wide - 2 * kWaterfallMargin, high);
    painter.drawText(title, Qt::AlignVCenter,
                     QFontMetrics(bold).elidedText(picture_.title, Qt::ElideRight, title.width()));
    painter.setFont(font());
    painter.setPen(quiet);
    const QRect axis(gutter(), high, wide - gutter() - kWaterfallMargin, high);
    const QString begin = document_.time_text(picture_.from_ns);
    const QString end =
        "+" + QString::fromStdString(base::format_duration(picture_.to_ns - picture_.from_ns));
    painter.drawText(axis, Qt::AlignVCenter | Qt::AlignLeft, begin);
    painter.drawText(axis, Qt::AlignVCenter | Qt::AlignRight, end);
    if (fold_to_ != fold_from_) {
      const QString folded = QString::fromStdString(base::format_duration(fold_to_ - fold_from_));
      const int room = axis.width() - fontMetrics().horizontalAdvance(begin + end) - 24;
      const QString words = tr("folded: %1").arg(folded);
      if (fontMetrics().horizontalAdvance(words) < room) {
        painter.drawText(axis, Qt::AlignCenter, words);
      }
    }
    painter.setPen(line_colour(colours));
    painter.drawLine(0, 2 * high, wide, 2 * high);
  }
  if (hasFocus()) {
    painter.setPen(QPen(colours.color(QPalette::Highlight), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
  }
}

std::optional<std::size_t> Waterfall::bar_at(const QPoint& at) const {
  if (at.y() < 2 * row_height()) return std::nullopt;
  const int row = (at.y() - top()) / row_height();
  if (row < 0 || static_cast<std::size_t>(row) >= picture_.bars.size()) return std::nullopt;
  return static_cast<std::size_t>(row);
}

void Waterfall::choose(std::size_t bar) {
  current_ = bar;
  const QRect box = rect_of(bar);
  QScrollBar& scroll = *verticalScrollBar();
  const int above = box.top() - 3 - 2 * row_height();
  if (above < 0) scroll.setValue(scroll.value() + above);
  const int below = box.bottom() + 3 - viewport()->height();
  if (below > 0) scroll.setValue(scroll.value() + below);
  setAccessibleDescription(text_of(bar));
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
  viewport()->update();
}

void Waterfall::go() {
  if (!current_) return;
  const WaterfallBar& b = picture_.bars[*current_];
  if (b.message != 0) {
    document_.select_message(b.message);
  } else if (b.frame != 0) {
    document_.select_frame(b.frame);
  }
}

void Waterfall::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const auto bar = bar_at(event->position().toPoint());
  if (!bar) return;
  choose(*bar);
  go();
}

void Waterfall::keyPressEvent(QKeyEvent* event) {
  if (picture_.bars.empty()) return QAbstractScrollArea::keyPressEvent(event);
  const std::size_t last = picture_.bars.size() - 1;
  switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Left:
      return choose(current_ && *current_ > 0 ? *current_ - 1 : 0);
    case Qt::Key_Down:
    case Qt::Key_Right:
      return choose(current_ ? std::min(last, *current_ + 1) : 0);
    case Qt::Key_Home:
      return choose(0);
    case Qt::Key_End:
      return choose(last);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return go();
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
}

bool Waterfall::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* const help = static_cast<QHelpEvent*>(event);
    if (const auto bar = bar_at(help->pos())) {
      QToolTip::showText(help->globalPos(), tool_tip(text_of(*bar)), this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace rpcrdma::gui
