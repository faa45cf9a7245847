// Where the user chooses one side of a comparison.
#include "cards.h"
#include "compare_page.h"

#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QMimeData>
#include <QPainter>
#include <QUrl>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

CompareSide::CompareSide(const QString& title, QWidget* parent)
    : QWidget(parent),
      title_(title),
      name_(plain_label(this, true)),
      problem_(plain_label(this, true)),
      document_(new QPushButton(tr("Open document"), this)),
      range_(new QPushButton(tr("Its range of time"), this)),
      file_(new QPushButton(tr("File ..."), this)) {
  setAcceptDrops(true);
  setAccessibleName(title);
  document_->setToolTip(tr("The document that this window shows, as a whole"));
  range_->setToolTip(tr("Only the Calls and Replies in the range of time that all views show"));
  file_->setToolTip(
      tr("A capture, or a report of rpcrdma analyze --json; also by dropping it here"));
  auto* const row = new QHBoxLayout;
  row->setSpacing(8);
  auto* const heading = plain_label(this);
  heading->setText(title);
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  heading->setFont(bold);
  row->addWidget(heading);
  row->addStretch();
  for (QPushButton* const button : {document_, range_, file_}) {
    button->setAccessibleName(tr("%1: %2").arg(title, button->text()));
    row->addWidget(button);
  }
  problem_->hide();
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(12, 8, 12, 8);
  all->setSpacing(4);
  all->addLayout(row);
  all->addWidget(name_);
  all->addWidget(problem_);
  connect(document_, &QPushButton::clicked, this, &CompareSide::document_wanted);
  connect(range_, &QPushButton::clicked, this, &CompareSide::range_wanted);
  connect(file_, &QPushButton::clicked, this, &CompareSide::file_wanted);
}

void CompareSide::show_input(const CompareInput& input, const QString& problem) {
  name_->setText(input.empty() ? tr("Choose a capture, or drop it here") : one_line(input.name));
  problem_->setText(one_line(problem));
  problem_->setVisible(!problem.isEmpty());
  QPalette colours = palette();
  colours.setColor(QPalette::WindowText,
                   input.empty() ? secondary_text(colours) : colours.color(QPalette::Text));
  name_->setPalette(colours);
  colours.setColor(QPalette::WindowText, severity_colour(colours, 0));
  problem_->setPalette(colours);
  setAccessibleDescription(problem.isEmpty() ? name_->text() : problem_->text());
}

void CompareSide::set_can(bool document, bool range) {
  document_->setEnabled(document);
  range_->setEnabled(range);
}

void CompareSide::dragEnterEvent(QDragEnterEvent* event) {
  if (!event->mimeData()->hasUrls()) return;
  event->acceptProposedAction();
  dragging_ = true;
  update();
}

void CompareSide::dragLeaveEvent(QDragLeaveEvent*) {
  dragging_ = false;
  update();
}

void CompareSide::dropEvent(QDropEvent* event) {
  dragging_ = false;
  update();
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  event->acceptProposedAction();
  if (!paths.isEmpty()) Q_EMIT dropped(paths);
}

void CompareSide::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(palette().color(QPalette::Base));
  painter.setPen(dragging_ ? QPen(palette().color(QPalette::Highlight), 2, Qt::DashLine)
                           : QPen(line_colour(palette())));
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
}

}  // namespace rpcrdma::gui
