// One capture, or what live endpoints tell, with what somebody is looking at of it: the middle
// between the index, which threads fill, and views, which all live in the interface's thread.
#pragma once

#include <QObject>
#include <QStringList>
#include <QTimer>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <rpcrdma/index/excerpt.h>
#include <rpcrdma/index/loading.h>
#include <rpcrdma/index/search.h>
#include <rpcrdma/index/store.h>

namespace rpcrdma::gui {

class Worker;

class Document : public QObject {
  Q_OBJECT

 public:
  explicit Document(QObject* parent = nullptr);
  ~Document() override;

  // Each replaces what is shown, unless it fails: then it says why, and all stays as it was.
  // `names`: as open_files() takes them; "-": standard input.
  bool open(const QStringList& names);
  // By names or sockets of endpoints; of several, those that can be attached to.
  bool attach(const QStringList& endpoints);
  bool capture(const QString& interface, const QString& filter);
  // Nothing more is read; what was stays.
  void stop();

  [[nodiscard]] bool is_empty() const { return store_ == nullptr; }
  [[nodiscard]] bool is_live() const { return live_; }
  // Never null, and the same until reset() is told.
  [[nodiscard]] const index::Store& store() const { return store_ ? *store_ : nothing_; }
  [[nodiscard]] const QString& title() const { return title_; }
  [[nodiscard]] QStringList files() const { return files_; }
  // What re-reads frames: as Loading::frames() says; empty without a document.
  [[nodiscard]] std::string frames() const;

  // Rows of the table. Without a filter all messages are shown.
  [[nodiscard]] std::uint64_t row_count() const;
  [[nodiscard]] std::uint64_t message_at(std::uint64_t row) const;  // ID
  // The row of a message; nothing when the filter does not take it.
  [[nodiscard]] std::optional<std::uint64_t> row_of(std::uint64_t message) const;

  // An empty text shows all. False when it is no filter: why() and the place are in `error`.
  bool set_filter(const QString& text, filter::FilterError* error = nullptr);
  [[nodiscard]] const QString& filter() const { return filter_; }
  // Of the filter's search: messages looked at, of so many.
  struct Searched {
    std::uint64_t done = 0, total = 0;
    bool finished = true;
  };
  [[nodiscard]] Searched searched() const;

  // What is selected everywhere.
  void select_message(std::uint64_t id);
  void select_frame(std::uint64_t frame);
  void select_connection(std::uint32_t index);
  [[nodiscard]] std::uint64_t selected() const { return selected_; }
  [[nodiscard]] std::optional<std::uint32_t> connection() const { return connection_; }
  // Of the selected message: from its Call to its answer. Null while it is read.
  [[nodiscard]] std::shared_ptr<const index::Excerpt> excerpt() const { return excerpt_; }

  // Messages first..last in full, soon told by ladder_read(). The latest call counts.
  void read_ladder(std::uint64_t first, std::uint64_t last);

 Q_SIGNALS:
  void reset();         // another document
  void changed();       // the store grew; not more often than each 50 ms
  void rows_changed();  // row_count(), or which messages are shown
  void finished();      // nothing more comes
  void message_selected(quint64 id);
  void connection_selected(quint32 index);
  void excerpt_read();
  void ladder_read(std::shared_ptr<const rpcrdma::index::Excerpt> excerpt, quint64 first,
                   quint64 last);
  void trouble(const QString& text);  // one line for a person

 private:
  bool take(std::unique_ptr<index::Store> store, std::unique_ptr<index::Loading> loading,
            const QString& title, const QStringList& files, bool live);
  void note_change();
  void announce_change();
  void search_on();
  void took(const index::Search::Found& found);

  index::Store nothing_;
  std::unique_ptr<index::Store> store_;
  std::unique_ptr<index::Loading> loading_;
  QString title_;
  QStringList files_;
  bool live_ = false;
  bool finished_shown_ = false;
  bool trouble_shown_ = false;
  std::shared_ptr<std::atomic<bool>> noted_;  // a change is on its way to this thread
  QTimer change_timer_;

  QString filter_;
  std::shared_ptr<index::Search> search_;
  bool searching_ = false;  // a step is under way in the worker
  index::Search::Found last_found_;
  std::vector<std::uint64_t> found_;  // IDs, sorted
  std::uint64_t all_rows_ = 0;        // as told by rows_changed()

  std::uint64_t selected_ = 0;
  std::optional<std::uint32_t> connection_;
  std::shared_ptr<const index::Excerpt> excerpt_;
  std::shared_ptr<std::atomic<bool>> excerpt_cancelled_, ladder_cancelled_;

  std::unique_ptr<Worker> search_worker_, excerpt_worker_;
};

}  // namespace rpcrdma::gui
