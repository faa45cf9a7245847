// The last files that were opened, with their sizes and what was found in them.
#pragma once

#include "recent_files.h"
#include "row_button.h"

#include <map>
#include <memory>

namespace rpcrdma::gui {

class RecentList : public QWidget {
  Q_OBJECT
 public:
  // `settings` outlives the list.
  explicit RecentList(QSettings& settings, QWidget* parent = nullptr);
  ~RecentList() override;

  void update_list();
  [[nodiscard]] RowList& rows() { return *rows_; }

 Q_SIGNALS:
  void open_wanted(const QString& path);

 private:
  struct Found {  // on disk
    bool exists = true;
    std::uint64_t size = 0;
    qint64 modified_s = 0;  // since 1970; 0: not known yet
  };
  struct Receiver;
  void ask(const QStringList& paths);
  void show_rows();

  RecentFiles files_;
  RowList* rows_;
  QLabel* none_;
  std::map<QString, Found> found_;
  std::shared_ptr<Receiver> receiver_;
};

}  // namespace rpcrdma::gui
