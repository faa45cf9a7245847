// Asks which view to save as a picture, and in which form, with a preview.
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QPixmap>
#include <QPointer>
#include <vector>

namespace rpcrdma::gui {

class PictureDialog : public QDialog {
  Q_OBJECT

 public:
  struct View {
    QString title;
    QPointer<QWidget> widget;
  };
  // `views` are in sight.
  explicit PictureDialog(std::vector<View> views, QWidget* parent = nullptr);

  [[nodiscard]] QListWidget& list() { return *list_; }

 Q_SIGNALS:
  void reported(const QString& text);  // where it was saved, or why not

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void show_preview();
  void fit_preview();
  void save();

  std::vector<View> views_;
  QListWidget* list_;
  QLabel* preview_;
  QPixmap whole_;
  QComboBox* form_;
};

}  // namespace rpcrdma::gui
