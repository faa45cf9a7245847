// Completion by what may stand at the cursor, and checks of the display filter while it is typed.
#include "filter_edit.h"

#include "colours.h"
#include "filter_values.h"

#include <QAction>
#include <QEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kHistory = 30;
constexpr int kPauseMs = 600;  // an error is shown once nothing was typed for so long
constexpr int kShownRows = 14;

QPixmap drawn(const QPalette& palette, const std::function<void(QPainter&)>& draw) {
  constexpr int kSize = 32;  // drawn large: sharp on fine screens
  QPixmap pixmap(kSize, kSize);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(palette.color(QPalette::Text), 2));
  draw(painter);
  return pixmap;
}

QIcon star_icon(const QPalette& palette, bool full) {
  return drawn(palette, [&](QPainter& painter) {
    QPainterPath star;
    for (int i = 0; i < 10; ++i) {
      const double radius = i % 2 == 0 ? 12 : 5;
      const double angle = (i * 36 - 90) * M_PI / 180;
      const QPointF at(16 + radius * std::cos(angle), 16 + radius * std::sin(angle));
      if (i == 0) {
        star.moveTo(at);
      } else {
        star.lineTo(at);
      }
    }
    star.closeSubpath();
    if (full) painter.setBrush(palette.color(QPalette::Highlight));
    painter.drawPath(star);
  });
}

QIcon history_icon(const QPalette& palette) {
  return drawn(palette, [](QPainter& painter) {
    painter.drawEllipse(QPointF(16, 16), 10, 10);
    painter.drawLine(16, 16, 16, 10);
    painter.drawLine(16, 16, 21, 18);
  });
}

}  // namespace

FilterEdit::FilterEdit(QWidget* parent)
    : QLineEdit(parent),
      completer_(new QCompleter(this)),
      words_(new FilterWords(completer_)),
      popup_(new QTreeView),
      note_(new QLabel(parent != nullptr ? parent->window() : this)) {
  setPlaceholderText(tr("Display filter, such as  rpcrdma.credit < 4 && rpc.program == NFS"));
  setClearButtonEnabled(true);
  setAccessibleName(tr("Display filter"));
  popup_->setRootIsDecorated(false);
  popup_->setHeaderHidden(true);
  popup_->setUniformRowHeights(true);
  popup_->setFrameShape(QFrame::Box);
  popup_->setAccessibleName(tr("Words for the filter"));
  popup_->setSelectionBehavior(QAbstractItemView::SelectRows);
  popup_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  completer_->setModel(words_);
  completer_->setPopup(popup_);
  completer_->setWidget(this);
  completer_->setCompletionColumn(0);
  completer_->setCaseSensitivity(Qt::CaseInsensitive);
  completer_->setFilterMode(Qt::MatchContains);
  completer_->setMaxVisibleItems(kShownRows);
  note_->setObjectName("filter-error");
  note_->setTextFormat(Qt::PlainText);
  note_->setWordWrap(true);
  note_->setMargin(6);
  note_->setAutoFillBackground(true);
  note_->setFrameShape(QFrame::Box);
  note_->setAccessibleName(tr("Error in the filter"));
  note_->hide();
  used_before_ = addAction(history_icon(palette()), LeadingPosition);
  used_before_->setText(tr("Filters used before"));
  used_before_->setToolTip(tr("Filters used before (Up and Down)"));
  connect(used_before_, &QAction::triggered, this, &FilterEdit::show_history);
  star_ = addAction(star_icon(palette(), false), TrailingPosition);
  star_->setText(tr("Save the filter"));
  connect(star_, &QAction::triggered, this, &FilterEdit::save_wanted);
  set_saved(false);
  pause_.setSingleShot(true);
  pause_.setInterval(kPauseMs);
  connect(&pause_, &QTimer::timeout, this, &FilterEdit::show_error);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &FilterEdit::insert);
  connect(this, &QLineEdit::textChanged, this, &FilterEdit::check);
  connect(this, &QLineEdit::textEdited, this, [this] { complete(false); });
}

void FilterEdit::set_history(const QStringList& history) {
  history_ = history.mid(0, kHistory);
}

void FilterEdit::set_values(FilterValues* values) {
  values_ = values;
  connect(values_, &FilterValues::counted, this, [this](decode::FieldId field) {
    const bool wanted = place_.wanted == FilterPlace::Wanted::kValue && place_.field == field;
    if (wanted && hasFocus() && !popup_->currentIndex().isValid()) complete(false);
  });
}

void FilterEdit::set_saved(bool saved) {
  saved_ = saved;
  draw_icons();
  star_->setToolTip(saved ? tr("The filter is saved: see the filter bar")
                          : tr("Saves the filter as a button (Ctrl+D)"));
}

void FilterEdit::draw_icons() {
  star_->setIcon(star_icon(palette(), saved_));
  used_before_->setIcon(history_icon(palette()));
}

void FilterEdit::check() {
  const QString trimmed = text().trimmed();
  error_.clear();
  shown_ = false;
  pause_.stop();
  if (!trimmed.isEmpty()) {
    const std::string typed = text().toStdString();
    if (const auto filter = filter::compile(typed); !filter) {
      const filter::FilterError& error = filter.error();
      const auto characters = [&typed](std::size_t bytes) {
        return static_cast<int>(
            QString::fromUtf8(typed.data(), static_cast<qsizetype>(std::min(bytes, typed.size())))
                .size());
      };
      error_begin_ = characters(error.offset);
      error_end_ = std::max(characters(error.offset + error.length), error_begin_ + 1);
      error_ = tr("%1 (at character %2)")
                   .arg(QString::fromStdString(error.message))
                   .arg(error_begin_ + 1);
      pause_.start();
    }
  }
  note_->hide();
  setToolTip({});
  setAccessibleDescription({});
  colour();
}

void FilterEdit::show_error() {
  // Whoever looks at the words has not finished.
  if (popup_->isVisible()) return pause_.start();
  pause_.stop();
  shown_ = !error_.isEmpty();
  if (!shown_) return;
  setToolTip(tool_tip(error_));
  setAccessibleDescription(error_);
  colour();
  note_->setText(one_line(error_));
  place_note();
}

// As in Wireshark: green is valid, red is not. While the user types, an error has no colour.
void FilterEdit::colour() {
  colouring_ = true;
  QPalette colours;
  const bool dark = is_dark(colours);
  if (shown_) {
    colours.setColor(QPalette::Base, dark ? QColor(90, 35, 35) : QColor(255, 225, 225));
  } else if (error_.isEmpty() && !text().trimmed().isEmpty()) {
    colours.setColor(QPalette::Base, dark ? QColor(30, 70, 40) : QColor(220, 248, 224));
  }
  setPalette(colours);
  QPalette note = QPalette();
  note.setColor(QPalette::Window, tint(note, severity_colour(note, 0), dark ? 0.25 : 0.10));
  note.setColor(QPalette::WindowText, note.color(QPalette::Text));
  note_->setPalette(note);
  colouring_ = false;
  update();
}

// Below the box, above whatever is there.
void FilterEdit::place_note() {
  if (note_ == nullptr) return;
  if (!shown_ || !hasFocus() || popup_->isVisible()) {
    note_->hide();
    return;
  }
  QWidget* const over = window();
  if (note_->parentWidget() != over) note_->setParent(over);
  const QPoint corner = mapTo(over, QPoint(0, height() + 2));
  const int room = std::max(200, over->width() - corner.x() - 8);
  note_->setFixedWidth(std::min(room, std::max(width(), fontMetrics().averageCharWidth() * 50)));
  note_->adjustSize();
  note_->move(corner);
  note_->raise();
  note_->show();
}

int FilterEdit::x_of(int character) const {
  // Qt's rectangle of the cursor begins five pixels before the cursor.
  constexpr int kBefore = 5;
  const int cursor = cursorRect().x() + kBefore;
  return cursor + fontMetrics().horizontalAdvance(text().left(character)) -
         fontMetrics().horizontalAdvance(text().left(cursorPosition()));
}

void FilterEdit::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  if (!shown_) return;
  const int length = static_cast<int>(text().size());
  const int from = std::max(0, x_of(std::min(error_begin_, length)));
  const int most = x_of(std::min(error_end_, length));
  const int to = std::min(width(), std::max(most, from + fontMetrics().averageCharWidth()));
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(severity_colour(palette(), 0), 1.4));
  const int y = cursorRect().bottom() - 1;
  QPainterPath wave(QPointF(from, y));
  for (int x = from; x + 2 <= to; x += 2) wave.lineTo(x + 2, y + ((x - from) % 4 == 0 ? 2 : 0));
  painter.drawPath(wave);
}

void FilterEdit::resizeEvent(QResizeEvent* event) {
  QLineEdit::resizeEvent(event);
  place_note();
}

void FilterEdit::moveEvent(QMoveEvent* event) {
  QLineEdit::moveEvent(event);
  place_note();
}

void FilterEdit::focusInEvent(QFocusEvent* event) {
  QLineEdit::focusInEvent(event);
  place_note();
}

void FilterEdit::focusOutEvent(QFocusEvent* event) {
  QLineEdit::focusOutEvent(event);
  if (event->reason() != Qt::PopupFocusReason) place_note();
}

void FilterEdit::changeEvent(QEvent* event) {
  QLineEdit::changeEvent(event);
  if (event->type() != QEvent::ApplicationPaletteChange || colouring_) return;
  colour();
  draw_icons();
}

void FilterEdit::complete(bool asked) {
  using Wanted = FilterPlace::Wanted;
  place_ = filter_place(text(), cursorPosition());
  const QString begun = text().mid(place_.begin, place_.end - place_.begin);
  std::vector<FilterWord> words;
  bool enough = asked || !begun.isEmpty();
  switch (place_.wanted) {
    case Wanted::kField:
      words = field_words();
      enough = asked || (begun.size() >= 2 && !begun.front().isDigit());
      break;
    case Wanted::kOperator:
      if (place_.field) words = operator_words(decode::spec(*place_.field).type);
      enough = true;
      break;
    case Wanted::kValue:
      if (place_.field && values_ != nullptr) words = values_->values(*place_.field);
      enough = true;
      break;
    case Wanted::kJoin:
      words = join_words();
      break;
  }
  words_->set(std::move(words));
  completer_->setCompletionPrefix(begun);
  const bool whole = completer_->completionCount() == 1 && completer_->currentCompletion() == begun;
  if (!enough || completer_->completionCount() == 0 || whole) {
    popup_->hide();
    return;
  }
  const int wide = fontMetrics().averageCharWidth();
  QHeaderView* const header = popup_->header();
  header->setSectionResizeMode(QHeaderView::Interactive);
  popup_->resizeColumnToContents(0);
  popup_->resizeColumnToContents(1);
  header->resizeSection(0, std::clamp(header->sectionSize(0) + wide, wide * 16, wide * 44));
  header->resizeSection(1, std::min(header->sectionSize(1) + wide, wide * 18));
  header->setStretchLastSection(true);
  const int all = std::max(width(), header->sectionSize(0) + header->sectionSize(1) + wide * 50);
  // Below the box, at the cursor.
  const QRect at(cursorRect().x(), 0, std::min(all, window()->width() - 16), height());
  note_->hide();
  completer_->complete(at);
}

void FilterEdit::insert(const QString& completion) {
  const FilterPlace place = filter_place(text(), cursorPosition());
  using Wanted = FilterPlace::Wanted;
  const bool more = place.wanted == Wanted::kOperator || place.wanted == Wanted::kJoin;
  const QString put = more ? completion + ' ' : completion;
  QString all = text();
  all.replace(place.begin, place.end - place.begin, put);
  setText(all);
  setCursorPosition(place.begin + static_cast<int>(put.size()));
  // The value follows the operator.
  if (more) QTimer::singleShot(0, this, [this] { complete(false); });
}

void FilterEdit::apply() {
  if (!error_.isEmpty()) return show_error();
  const QString trimmed = text().trimmed();
  if (!trimmed.isEmpty()) {
    history_.removeAll(trimmed);
    history_.prepend(trimmed);
    history_ = history_.mid(0, kHistory);
  }
  in_history_ = -1;
  Q_EMIT applied(trimmed);
}

void FilterEdit::show_history() {
  auto* const menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const QString& used : history_) {
    menu->addAction(menu_text(used), this, [this, used] {
      setText(used);
      apply();
    });
  }
  if (history_.isEmpty()) menu->addAction(tr("No filter was used before"))->setEnabled(false);
  menu->popup(mapToGlobal(QPoint(0, height())));
}

void FilterEdit::keyPressEvent(QKeyEvent* event) {
  const bool popup = popup_->isVisible();
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Tab:
      if (popup && popup_->currentIndex().isValid()) {
        const QModelIndex at = popup_->currentIndex().siblingAtColumn(0);
        popup_->hide();
        insert(at.data(Qt::EditRole).toString());
        return;
      }
      if (event->key() == Qt::Key_Tab) break;
      popup_->hide();
      return apply();
    case Qt::Key_Up:
    case Qt::Key_Down: {
      if (popup || history_.isEmpty()) break;
      const int by = event->key() == Qt::Key_Up ? 1 : -1;
      in_history_ = std::clamp(in_history_ + by, -1, static_cast<int>(history_.size()) - 1);
      setText(in_history_ < 0 ? QString() : history_[in_history_]);
      return;
    }
    case Qt::Key_Space:
      if ((event->modifiers() & Qt::ControlModifier) != 0) {
        complete(true);
        return;
      }
      break;
    default:
      break;
  }
  QLineEdit::keyPressEvent(event);
}

}  // namespace rpcrdma::gui
