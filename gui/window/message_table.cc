// Paints the visible rows, and handles selection, scrolling, following the end, and copying.
#include "message_table.h"

#include "colours.h"
#include "message_table_access.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <rpcrdma/views/style.h>

namespace rpcrdma::gui {

namespace {

constexpr std::uint64_t kMostCopied = 1'000'000;
constexpr int kPadding = 4;
constexpr int kBracketX = 7;              // of the bracket from a Call to its Reply
constexpr std::uint8_t kWorstMarked = 1;  // rules::Severity: a warning

QString quoted(const QString& text) {
  if (!text.contains(',') && !text.contains('"') && !text.contains('\n')) return text;
  return '"' + QString(text).replace("\"", "\"\"") + '"';
}

}  // namespace

MessageTable::MessageTable(Document& document, QWidget* parent)
    : QAbstractScrollArea(parent),
      document_(document),
      header_(new QHeaderView(Qt::Horizontal, this)) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Messages"));
  install_message_table_access();
  viewport()->setAutoFillBackground(false);
  QStringList titles;
  for (const ColumnSpec& c : columns()) titles << tr(c.title);
  titles_.setHorizontalHeaderLabels(titles);
  header_->setModel(&titles_);
  header_->setSectionsMovable(true);
  header_->setStretchLastSection(false);
  header_->setHighlightSections(false);
  header_->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  header_->setContextMenuPolicy(Qt::CustomContextMenu);
  const int wide = fontMetrics().averageCharWidth();
  for (const ColumnSpec& c : columns()) {
    const int at = static_cast<int>(c.column);
    titles_.setHeaderData(at, Qt::Horizontal, tr(c.help), Qt::ToolTipRole);
    header_->resizeSection(at, wide * (c.characters + 2) + 2 * kPadding);
    header_->setSectionHidden(at, !c.shown);
  }
  connect(header_, &QHeaderView::sectionResized, this, &MessageTable::layout);
  connect(header_, &QHeaderView::sectionMoved, this, &MessageTable::layout);
  connect(header_, &QWidget::customContextMenuRequested, this, &MessageTable::header_menu);
  connect(&document_, &Document::rows_changed, this, &MessageTable::rows_changed);
  connect(&document_, &Document::changed, viewport(), qOverload<>(&QWidget::update));
  connect(&document_, &Document::time_format_changed, viewport(), qOverload<>(&QWidget::update));
  connect(&document_, &Document::message_selected, this, &MessageTable::selected_elsewhere);
  connect(&document_, &Document::reset, this, [this] {
    current_.reset();
    current_message_ = anchor_ = 0;
    verticalScrollBar()->setValue(0);
    layout();
  });
}

bool MessageTable::is_shown(Column column) const {
  return !header_->isSectionHidden(static_cast<int>(column));
}

void MessageTable::show_column(Column column, bool on) {
  header_->setSectionHidden(static_cast<int>(column), !on);
  layout();
}

void MessageTable::set_coloured(bool on) {
  coloured_ = on;
  viewport()->update();
}

void MessageTable::set_following(bool on) {
  if (following_ == on) return;
  following_ = on;
  if (on) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  Q_EMIT following_changed(on);
}

int MessageTable::row_height() const {
  return row_height_of(fontMetrics());
}

void MessageTable::set_marks(const Marks& marks) {
  marks_ = &marks;
  connect(marks_, &Marks::changed, viewport(), qOverload<>(&QWidget::update));
}

// At the left end: a diamond for a mark, a bubble for a comment, a clock for the time reference.
void MessageTable::paint_signs(QPainter& painter, const QRect& line, quint64 message,
                               const QColor& colour) const {
  const Marks::Mark mark = marks_->of(message);
  const bool reference = marks_->reference() == message;
  if (!mark.marked && mark.comment.isEmpty() && !reference) return;
  const double size = line.height() * 0.5;
  double x = line.left() + 6;
  const double y = line.center().y() + 0.5;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(colour, 1.2));
  const auto next = [&x, size] { x += size + 3; };
  if (mark.marked) {
    painter.setBrush(colour);
    const double half = size / 2;
    painter.drawPolygon(
        QPolygonF({{x + half, y - half}, {x + size, y}, {x + half, y + half}, {x, y}}));
    painter.setBrush(Qt::NoBrush);
    next();
  }
  if (!mark.comment.isEmpty()) {
    const QRectF bubble(x, y - size / 2, size, size * 0.7);
    painter.drawRoundedRect(bubble, 2, 2);
    painter.drawLine(QPointF(x + size * 0.3, bubble.bottom()),
                     QPointF(x + size * 0.2, y + size / 2));
    next();
  }
  if (reference) {
    const QPointF centre(x + size / 2, y);
    painter.drawEllipse(centre, size / 2, size / 2);
    painter.drawLine(centre, centre - QPointF(0, size * 0.35));
    painter.drawLine(centre, centre + QPointF(size * 0.25, 0));
  }
  painter.restore();
}

std::uint64_t MessageTable::rows_per_page() const {
  return static_cast<std::uint64_t>(std::max(1, viewport()->height() / row_height()));
}

void MessageTable::layout() {
  const int top = header_->sizeHint().height();
  setViewportMargins(0, top, 0, 0);
  const QRect area = viewport()->geometry();
  header_->setGeometry(area.left(), area.top() - top, area.width(), top);
  stretch_info(area.width());
  const auto rows = std::min<std::uint64_t>(document_.row_count(), INT_MAX);
  const auto page = std::min<std::uint64_t>(rows_per_page(), INT_MAX);
  verticalScrollBar()->setPageStep(static_cast<int>(page));
  verticalScrollBar()->setRange(0, static_cast<int>(rows > page ? rows - page : 0));
  horizontalScrollBar()->setPageStep(area.width());
  horizontalScrollBar()->setRange(0, std::max(0, header_->length() - area.width()));
  horizontalScrollBar()->setSingleStep(fontMetrics().averageCharWidth() * 4);
  header_->setOffset(horizontalScrollBar()->value());
  viewport()->update();
}

void MessageTable::stretch_info(int width) {
  const int info = static_cast<int>(Column::kInfo);
  if (header_->isSectionHidden(info)) return;
  const int others = header_->length() - header_->sectionSize(info);
  const int least = fontMetrics().averageCharWidth() * columns().back().characters;
  const int wanted = std::max(least, width - others);
  if (wanted == header_->sectionSize(info)) return;
  const QSignalBlocker once(header_);
  header_->resizeSection(info, wanted);
}

void MessageTable::rows_changed() {
  // The selected message stays selected, wherever a filter moves it.
  if (current_message_ != 0) {
    const auto row = document_.row_of(current_message_);
    if (row != current_) {
      current_ = row;
      anchor_ = row.value_or(0);
      if (row) make_visible(*row);
    }
  }
  layout();
  if (following_) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  Q_EMIT scrolled();
}

std::pair<std::uint64_t, std::uint64_t> MessageTable::visible() const {
  const auto first = static_cast<std::uint64_t>(verticalScrollBar()->value());
  const std::uint64_t count = document_.row_count();
  if (count == 0) return {0, 0};
  return {first, std::min(count - 1, first + rows_per_page())};
}

std::optional<std::uint64_t> MessageTable::row_at(int y) const {
  if (y < 0) return std::nullopt;
  const std::uint64_t row = static_cast<std::uint64_t>(verticalScrollBar()->value()) +
                            static_cast<std::uint64_t>(y / row_height());
  return row < document_.row_count() ? std::optional(row) : std::nullopt;
}

QRect MessageTable::rect_of(std::uint64_t row) const {
  const auto lines = static_cast<std::int64_t>(row) - verticalScrollBar()->value();
  const auto most = static_cast<std::int64_t>(rows_per_page()) + 1;
  return {0, static_cast<int>(std::clamp<std::int64_t>(lines, -1, most)) * row_height(),
          viewport()->width(), row_height()};
}

void MessageTable::make_visible(std::uint64_t row) {
  const auto first = static_cast<std::uint64_t>(verticalScrollBar()->value());
  const std::uint64_t page = rows_per_page();
  if (row < first) {
    verticalScrollBar()->setValue(static_cast<int>(row));
  } else if (row >= first + page) {
    layout();
    verticalScrollBar()->setValue(static_cast<int>(row - page + 1));
  }
}

void MessageTable::go_to(std::uint64_t row, bool extend) {
  const std::uint64_t count = document_.row_count();
  if (count == 0) return;
  row = std::min(row, count - 1);
  current_ = row;
  if (!extend) anchor_ = row;
  current_message_ = document_.message_at(row);
  make_visible(row);
  if (row + 1 < count) set_following(false);
  viewport()->update();
  going_ = true;
  document_.select_message(current_message_);
  going_ = false;
  report_current_row(*this);
}

void MessageTable::selected_elsewhere(quint64 id) {
  if (going_) return;
  current_message_ = id;
  const auto row = document_.row_of(id);
  current_ = row;
  if (row) {
    anchor_ = *row;
    // Centres it, so that its neighbours are visible, too.
    const auto [first, last] = visible();
    if (*row < first || *row >= last) {
      const std::uint64_t half = rows_per_page() / 2;
      verticalScrollBar()->setValue(static_cast<int>(*row > half ? *row - half : 0));
    }
    set_following(false);
  }
  viewport()->update();
  report_current_row(*this);
}

std::pair<std::uint64_t, std::uint64_t> MessageTable::selection() const {
  if (!current_) return {1, 0};
  return {std::min(anchor_, *current_), std::max(anchor_, *current_)};
}

QString MessageTable::text(std::uint64_t row, Column column) const {
  if (row >= document_.row_count()) return {};
  const std::uint64_t id = document_.message_at(row);
  const std::uint64_t above = row != 0 ? document_.message_at(row - 1) : 0;
  return document_.store().read([&](const index::Content& c) {
    const auto before = above != 0 ? std::optional(c.rows[above - 1]) : std::nullopt;
    return cell(c, id, column, document_.time_format(), document_.time_origin(),
                before ? &*before : nullptr);
  });
}

void MessageTable::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), palette().base());
  const int height = row_height();
  const auto first = static_cast<std::uint64_t>(verticalScrollBar()->value());
  const std::uint64_t count = document_.row_count();
  const std::pair<std::uint64_t, std::uint64_t> chosen = selection();
  const int offset = horizontalScrollBar()->value();
  const std::uint64_t shown =
      std::min<std::uint64_t>(count - std::min(count, first),
                              static_cast<std::uint64_t>(viewport()->height() / height) + 2);
  const TimeFormat format = document_.time_format();
  const std::int64_t origin = document_.time_origin();
  // The reading thread waits while the store is read, and drawing takes much longer than reading.
  struct Line {
    std::uint64_t row, id;
    RowColours colours;
    std::uint8_t worst;
    QStringList cells;
  };
  std::vector<Line> lines;
  std::vector<int> shown_columns;
  for (int visual = 0; visual < header_->count(); ++visual) {
    const int logical = header_->logicalIndex(visual);
    if (header_->isSectionHidden(logical)) continue;
    const int x = header_->sectionPosition(logical) - offset;
    if (x + header_->sectionSize(logical) < 0 || x > viewport()->width()) continue;
    shown_columns.push_back(logical);
  }
  document_.store().read([&](const index::Content& c) {
    for (std::uint64_t i = 0; i < shown; ++i) {
      const std::uint64_t row = first + i;
      const std::uint64_t id = document_.message_at(row);
      if (id == 0 || id > c.rows.size()) continue;
      const index::MessageRow r = c.rows[id - 1];
      const std::uint64_t above = row != 0 ? document_.message_at(row - 1) : 0;
      const auto before = above != 0 ? std::optional(c.rows[above - 1]) : std::nullopt;
      Line& line = lines.emplace_back(Line{
          row, id, row_colours(palette(), r.kind, c.reverse(r), r.worst, coloured_), r.worst, {}});
      for (const int logical : shown_columns) {
        const Column column = columns()[static_cast<std::size_t>(logical)].column;
        line.cells << cell(c, id, column, format, origin, before ? &*before : nullptr);
      }
    }
  });
  for (const Line& shown_line : lines) {
    const QRect line(0, static_cast<int>(shown_line.row - first) * height, viewport()->width(),
                     height);
    const RowColours& colours = shown_line.colours;
    const bool selected = shown_line.row >= chosen.first && shown_line.row <= chosen.second;
    painter.fillRect(line, selected ? palette().highlight().color() : colours.background);
    for (std::size_t i = 0; i < shown_columns.size(); ++i) {
      const QString& text = shown_line.cells[static_cast<qsizetype>(i)];
      if (text.isEmpty()) continue;
      const int logical = shown_columns[i];
      const ColumnSpec& spec = columns()[static_cast<std::size_t>(logical)];
      const int x = header_->sectionPosition(logical) - offset;
      const int wide = header_->sectionSize(logical);
      painter.setPen(selected                          ? palette().highlightedText().color()
                     : spec.column == Column::kFinding ? colours.finding
                                                       : colours.text);
      const QRect box(x + kPadding, line.top(), wide - 2 * kPadding, height);
      const auto align = Qt::AlignVCenter | (spec.right ? Qt::AlignRight : Qt::AlignLeft);
      painter.drawText(box, static_cast<int>(align),
                       fontMetrics().elidedText(text, Qt::ElideRight, box.width()));
    }
    // Notes are in their column only: marks on every other row teach to ignore marks.
    if (shown_line.worst <= kWorstMarked) {
      painter.fillRect(QRect(0, line.top(), 3, height), colours.finding);
    }
    if (marks_ != nullptr) {
      paint_signs(painter, line, shown_line.id,
                  selected ? palette().highlightedText().color() : colours.text);
    }
    if (current_ == shown_line.row && hasFocus()) {
      painter.setPen(QPen(palette().text().color(), 1, Qt::DotLine));
      painter.drawRect(line.adjusted(0, 0, -1, -1));
    }
  }
  draw_pair(painter);
  if (count == 0) {
    painter.setPen(palette().placeholderText().color());
    painter.drawText(viewport()->rect().adjusted(12, 12, -12, -12),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     document_.is_empty()
                         ? tr("Open a capture, attach to an endpoint, or start the playground")
                     : document_.filter().isEmpty() ? tr("No RPC-over-RDMA messages")
                                                    : tr("No message matches the filter"));
  }
}

// A bracket from the selected Call to its Reply, or back. An end that is out of sight is an arrow
// at the edge.
void MessageTable::draw_pair(QPainter& painter) const {
  if (!current_ || current_message_ == 0) return;
  const std::uint64_t id = current_message_;
  const std::uint64_t other = document_.store().read([id](const index::Content& c) {
    return id <= c.rows.size() ? c.rows[id - 1].match : std::uint64_t{0};
  });
  const auto match = document_.row_of(other);
  if (!match) return;
  const int height = row_height();
  const int bottom = viewport()->height();
  const auto y_of = [&](std::uint64_t row) {
    const auto lines =
        static_cast<std::int64_t>(row) - static_cast<std::int64_t>(verticalScrollBar()->value());
    return static_cast<int>(std::clamp<std::int64_t>(lines, -1, bottom / height + 1)) * height +
           height / 2;
  };
  const int upper = y_of(std::min(*current_, *match));
  const int lower = y_of(std::max(*current_, *match));
  if (lower < 0 || upper > bottom) return;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor colour = palette().color(QPalette::Text);
  painter.setPen(QPen(colour, 1.5));
  painter.setBrush(colour);
  const double x = kBracketX;
  const auto arrow = [&](double y, double by) {
    painter.drawPolygon(QPolygonF{{x, y}, {x - 3.5, y - by}, {x + 3.5, y - by}});
  };
  painter.drawLine(QPointF(x, std::max(2, upper)), QPointF(x, std::min(bottom - 2, lower)));
  if (upper < 0) {
    arrow(1, -6);
  } else {
    painter.drawLine(QPointF(x, upper), QPointF(x + 6, upper));
  }
  if (lower > bottom) {
    arrow(bottom - 1, 6);
  } else {
    painter.drawLine(QPointF(x, lower), QPointF(x + 6, lower));
  }
  painter.restore();
}

void MessageTable::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layout();
  if (following_) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  Q_EMIT scrolled();
}

void MessageTable::scrollContentsBy(int dx, int dy) {
  if (dx != 0) header_->setOffset(horizontalScrollBar()->value());
  if (dy > 0 && verticalScrollBar()->value() < verticalScrollBar()->maximum()) {
    set_following(false);
  }
  viewport()->update();
  Q_EMIT scrolled();
}

void MessageTable::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) layout();
}

std::optional<Column> MessageTable::column_at(int x) const {
  const int section = header_->logicalIndexAt(x);
  return section < 0 ? std::nullopt
                     : std::optional(columns()[static_cast<std::size_t>(section)].column);
}

void MessageTable::mousePressEvent(QMouseEvent* event) {
  const auto row = row_at(event->position().toPoint().y());
  if (!row || event->button() == Qt::MiddleButton) return;
  column_ = column_at(event->position().toPoint().x()).value_or(column_);
  const auto [from, to] = selection();
  if (event->button() == Qt::RightButton && *row >= from && *row <= to) return;
  go_to(*row, (event->modifiers() & Qt::ShiftModifier) != 0);
}

void MessageTable::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) == 0) return;
  if (const auto row = row_at(event->position().toPoint().y())) go_to(*row, true);
}

void MessageTable::mouseDoubleClickEvent(QMouseEvent* event) {
  if (row_at(event->position().toPoint().y())) Q_EMIT opened(current_message_);
}

void MessageTable::keyPressEvent(QKeyEvent* event) {
  const std::uint64_t count = document_.row_count();
  const bool extend = (event->modifiers() & Qt::ShiftModifier) != 0;
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(copy(CopyAs::kText));
    return;
  }
  if (event->matches(QKeySequence::SelectAll) && count != 0) {
    anchor_ = 0;
    go_to(count - 1, true);
    return;
  }
  if (count == 0) return QAbstractScrollArea::keyPressEvent(event);
  const std::uint64_t at = current_.value_or(0);
  const std::uint64_t page = std::max<std::uint64_t>(1, rows_per_page() - 1);
  switch (event->key()) {
    case Qt::Key_Up:
      return go_to(current_ && at != 0 ? at - 1 : 0, extend);
    case Qt::Key_Down:
      return go_to(current_ ? at + 1 : 0, extend);
    case Qt::Key_PageUp:
      return go_to(at > page ? at - page : 0, extend);
    case Qt::Key_PageDown:
      return go_to(at + page, extend);
    case Qt::Key_Home:
      return go_to(0, extend);
    case Qt::Key_End:
      go_to(count - 1, extend);
      if (document_.is_live() && !extend) set_following(true);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current_) Q_EMIT opened(current_message_);
      return;
    case Qt::Key_Left:
      return horizontalScrollBar()->triggerAction(QAbstractSlider::SliderSingleStepSub);
    case Qt::Key_Right:
      return horizontalScrollBar()->triggerAction(QAbstractSlider::SliderSingleStepAdd);
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
}

QString MessageTable::row_text(std::uint64_t row) const {
  QStringList cells;
  for (int visual = 0; visual < header_->count(); ++visual) {
    const int logical = header_->logicalIndex(visual);
    if (header_->isSectionHidden(logical)) continue;
    cells << text(row, columns()[static_cast<std::size_t>(logical)].column);
  }
  return cells.join('\t');
}

QString MessageTable::copy(CopyAs as) const {
  auto [from, to] = selection();
  if (from > to) return {};
  to = std::min(to, from + kMostCopied - 1);
  std::vector<const ColumnSpec*> shown;
  for (int visual = 0; visual < header_->count(); ++visual) {
    const int logical = header_->logicalIndex(visual);
    if (!header_->isSectionHidden(logical)) {
      shown.push_back(&columns()[static_cast<std::size_t>(logical)]);
    }
  }
  QString out;
  QJsonArray array;
  if (as != CopyAs::kJson) {
    QStringList titles;
    for (const ColumnSpec* c : shown) titles << tr(c->title);
    if (as == CopyAs::kCsv) out += titles.join(',') + '\n';
  }
  for (std::uint64_t row = from; row <= to; ++row) {
    QStringList cells;
    QJsonObject object;
    for (const ColumnSpec* c : shown) {
      const QString value = text(row, c->column);
      if (as == CopyAs::kJson) {
        object.insert(c->title, value);
      } else {
        cells << (as == CopyAs::kCsv ? quoted(value) : value);
      }
    }
    if (as == CopyAs::kJson) {
      array.append(object);
    } else {
      out += cells.join(as == CopyAs::kCsv ? ',' : '\t') + '\n';
    }
  }
  return as == CopyAs::kJson ? QString::fromUtf8(QJsonDocument(array).toJson()) : out;
}

void MessageTable::contextMenuEvent(QContextMenuEvent* event) {
  if (!current_) return;
  if (event->reason() == QContextMenuEvent::Keyboard) {
    make_visible(*current_);
    const auto below = *current_ - static_cast<std::uint64_t>(verticalScrollBar()->value()) + 1;
    const int x = header_->sectionPosition(static_cast<int>(column_)) - header_->offset();
    Q_EMIT menu_wanted(viewport()->mapToGlobal(
        QPoint(std::clamp(x, 0, viewport()->width()), static_cast<int>(below) * row_height())));
    return;
  }
  Q_EMIT menu_wanted(event->globalPos());
}

void MessageTable::header_menu(const QPoint& at) {
  QMenu menu;
  for (const ColumnSpec& c : columns()) {
    QAction* const action = menu.addAction(tr(c.title));
    action->setCheckable(true);
    action->setChecked(is_shown(c.column));
    action->setToolTip(tr(c.help));
    connect(action, &QAction::toggled, this,
            [this, column = c.column](bool on) { show_column(column, on); });
  }
  menu.exec(header_->mapToGlobal(at));
}

}  // namespace rpcrdma::gui
