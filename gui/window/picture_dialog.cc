#include "picture_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {

PictureDialog::PictureDialog(std::vector<View> views, QWidget* parent)
    : QDialog(parent),
      views_(std::move(views)),
      list_(new QListWidget(this)),
      preview_(new QLabel(this)),
      form_(new QComboBox(this)) {
  setObjectName("picture");
  setWindowTitle(tr("Save a picture"));
  list_->setAccessibleName(tr("Views in sight"));
  for (const View& view : views_) list_->addItem(one_line(view.title));
  preview_->setAlignment(Qt::AlignCenter);
  preview_->setFrameShape(QFrame::StyledPanel);
  preview_->setMinimumSize(360, 240);
  preview_->setAccessibleName(tr("Preview"));
  form_->addItem(tr("PNG, twice the size of the screen"), "png");
  form_->addItem(tr("SVG, sharp at each size"), "svg");
  form_->setAccessibleName(tr("Form of the picture"));
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  QPushButton* const save = buttons->addButton(tr("&Save as..."), QDialogButtonBox::ActionRole);
  save->setDefault(true);
  connect(save, &QPushButton::clicked, this, &PictureDialog::save);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(list_, &QListWidget::currentRowChanged, this, &PictureDialog::show_preview);
  connect(list_, &QListWidget::itemActivated, this, &PictureDialog::save);
  auto* const row = new QHBoxLayout;
  row->addWidget(list_, 1);
  row->addWidget(preview_, 2);
  auto* const all = new QVBoxLayout(this);
  all->addLayout(row, 1);
  all->addWidget(form_);
  all->addWidget(buttons);
  resize(720, 400);
  list_->setCurrentRow(0);
}

void PictureDialog::resizeEvent(QResizeEvent* event) {
  QDialog::resizeEvent(event);
  fit_preview();
}

void PictureDialog::show_preview() {
  const int row = list_->currentRow();
  if (row < 0 || views_[static_cast<std::size_t>(row)].widget.isNull()) return;
  whole_ = views_[static_cast<std::size_t>(row)].widget->grab();
  fit_preview();
}

void PictureDialog::fit_preview() {
  if (whole_.isNull()) return;
  const QSize room = preview_->contentsRect().size().boundedTo(QSize(900, 700));
  preview_->setPixmap(whole_.scaled(room, Qt::KeepAspectRatio, Qt::SmoothTransformation));
}

void PictureDialog::save() {
  const int row = list_->currentRow();
  if (row < 0) return;
  const QString form = form_->currentData().toString();
  auto* const dialog = new QFileDialog(this, tr("Save the picture"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setNameFilter(form == "svg" ? tr("SVG (*.svg)") : tr("PNG (*.png)"));
  dialog->setDefaultSuffix(form);
  connect(dialog, &QFileDialog::fileSelected, this,
          [this, form, widget = views_[static_cast<std::size_t>(row)].widget](const QString& path) {
            if (widget.isNull()) return;
            const QString why = form == "svg" ? save_svg(*widget, path) : save_png(*widget, path);
            Q_EMIT reported(why.isEmpty() ? tr("Saved in %1").arg(path) : why);
            if (why.isEmpty()) accept();
          });
  dialog->open();
}

}  // namespace rpcrdma::gui
