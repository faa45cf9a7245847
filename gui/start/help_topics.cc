#include "help_topics.h"

#include <QAction>
#include <QCoreApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QSet>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::gui {

namespace {

QString words(const char* text) {
  return QCoreApplication::translate("Help", text);
}

// "&Open..." without what only a menu needs.
QString plain(QString text) {
  text.replace("&&", "\x01");
  text.remove('&');
  text.replace('\x01', '&');
  while (text.endsWith('.')) text.chop(1);
  return text;
}

void add_action(std::vector<HelpRow>& rows, QSet<const QAction*>& seen, const QString& group,
                const QAction& action) {
  if (seen.contains(&action)) return;
  seen.insert(&action);
  QStringList keys;
  for (const QKeySequence& k : action.shortcuts()) keys << k.toString(QKeySequence::NativeText);
  keys.removeAll(QString());
  if (keys.isEmpty()) return;
  HelpRow row;
  row.cells = {plain(action.text()), keys.join(", "), group};
  row.detail = plain(action.text()) + '\n' + keys.join(", ");
  // By default, the tooltip is the text.
  if (action.toolTip() != plain(action.text())) row.detail += "\n\n" + action.toolTip();
  rows.push_back(row);
}

void add_menu(std::vector<HelpRow>& rows, QSet<const QAction*>& seen, const QString& group,
              const QList<QAction*>& actions) {
  for (const QAction* const action : actions) {
    if (const QMenu* const menu = action->menu()) {
      const QString name = plain(menu->title());
      add_menu(rows, seen, group.isEmpty() ? name : group + ", " + name, menu->actions());
    } else {
      add_action(rows, seen, group, *action);
    }
  }
}

struct Line {
  const char* text;
  const char* meaning;
};

constexpr Line kExamples[] = {
    {"rpcrdma.latency > 5ms", QT_TRANSLATE_NOOP("Help", "Calls that took longer than 5 ms")},
    {"rpcrdma.finding", QT_TRANSLATE_NOOP("Help", "messages that break a rule")},
    {"rpcrdma.finding == \"FC-01\"", QT_TRANSLATE_NOOP("Help", "messages that break this rule")},
    {"nfs.op == READ && rpcrdma.moved > 64000",
     QT_TRANSLATE_NOOP("Help", "READs of every NFS version with much data in chunks")},
    {"nfs.path contains \"log\"", QT_TRANSLATE_NOOP("Help", "RPCs about files of such a path")},
    {"nfs.status == NOENT", QT_TRANSLATE_NOOP("Help", "NFS Replies with this status")},
    {"rpcrdma.connection == 2", QT_TRANSLATE_NOOP("Help", "one connection")},
    {"rpcrdma.xid == 0x00000065", QT_TRANSLATE_NOOP("Help", "one Call and its Reply")},
    {"rpcrdma.credit < 4", QT_TRANSLATE_NOOP("Help", "messages with few credits")},
    {"rpcrdma.kind == call && !rpcrdma.match.frame",
     QT_TRANSLATE_NOOP("Help", "Calls without a Reply")},
    {"rpcrdma.addr == 10.77.0.0/16", QT_TRANSLATE_NOOP("Help", "peers in this network")},
    {"frame.number in {100..200}", QT_TRANSLATE_NOOP("Help", "frames of this range")},
};

constexpr Line kOperators[] = {
    {"==   eq", QT_TRANSLATE_NOOP("Help", "a value of the field is equal")},
    {"!=   ne", QT_TRANSLATE_NOOP("Help", "the message has the field, and all its values differ")},
    {"<  <=  >  >=", QT_TRANSLATE_NOOP("Help", "a value of the field is less, and so on")},
    {"in {a, b, c..d}", QT_TRANSLATE_NOOP("Help", "a value is one of these, or in a range")},
    {"contains", QT_TRANSLATE_NOOP("Help", "a value contains this string or these bytes")},
    {"matches   ~", QT_TRANSLATE_NOOP("Help", "the regular expression matches within a value")},
    {"&&   and", QT_TRANSLATE_NOOP("Help", "both are true")},
    {"||   or", QT_TRANSLATE_NOOP("Help", "one of them is true; binds less than &&")},
    {"!   not", QT_TRANSLATE_NOOP("Help", "the test after it is false")},
    {"FIELD", QT_TRANSLATE_NOOP("Help", "the message has the field; a bool is true")},
};

HelpRow field_row(const decode::FieldSpec& field) {
  HelpRow row;
  row.filter = QString::fromLatin1(field.name);
  const QString label = QString::fromUtf8(field.label);
  const QString type = QString::fromLatin1(decode::type_name(field.type));
  row.cells = {row.filter, type, label};
  row.detail = row.filter + ", " + type + '\n' + label + ": " + QString::fromUtf8(field.help);
  constexpr std::size_t kMostValues = 400;
  QStringList values;
  for (const decode::ValueName& v :
       field.values.first(std::min(field.values.size(), kMostValues))) {
    values << QString::fromUtf8(v.name);
  }
  if (!values.isEmpty()) row.detail += "\n\n" + words("Values: %1").arg(values.join(", "));
  return row;
}

QString severity_of(const rules::Rule& rule) {
  return QString::fromLatin1(rules::level_name(rule.level(rules::Profile::k8166)));
}

}  // namespace

std::vector<HelpRow> key_rows(const QMainWindow& window) {
  std::vector<HelpRow> rows;
  QSet<const QAction*> seen;
  add_menu(rows, seen, {}, window.menuBar()->actions());
  for (const QAction* const action : window.findChildren<QAction*>()) {
    add_action(rows, seen, words("Window"), *action);
  }
  return rows;
}

std::vector<HelpRow> filter_rows() {
  std::vector<HelpRow> rows;
  for (const Line& line : kExamples) {
    const QString text = QString::fromUtf8(line.text);
    const QString meaning = words(line.meaning);
    rows.push_back({{text, words("example"), meaning}, text + '\n' + meaning, text});
  }
  for (const Line& line : kOperators) {
    const QString text = QString::fromUtf8(line.text);
    const QString meaning = words(line.meaning);
    rows.push_back({{text, words("operator"), meaning}, text + '\n' + meaning, {}});
  }
  for (const decode::FieldSpec& field : decode::schema()) {
    if (filter::is_filter_field(field.id)) rows.push_back(field_row(field));
  }
  return rows;
}

std::vector<HelpRow> rule_rows() {
  std::vector<HelpRow> rows;
  for (const rules::Rule& rule : rules::rules()) {
    const QString name = QString::fromLatin1(rule.name);
    const QString sentence = QString::fromUtf8(rule.sentence);
    const QString section = QString::fromUtf8(rule.section);
    HelpRow row;
    row.cells = {name, severity_of(rule), sentence};
    row.detail = name + ", " + severity_of(rule);
    if (!section.isEmpty()) row.detail += ", " + section;
    row.detail += '\n' + sentence + ".\n\n" + QString::fromUtf8(rule.advice);
    row.filter = QString("rpcrdma.finding == \"%1\"").arg(name);
    rows.push_back(row);
  }
  return rows;
}

QString about_text() {
  const std::string_view version = version::text();
  const QString text = words(
      "rpcrdma-gui, the window of rpcrdma-scope\n"
      "Version %1\n\n"
      "Shows RPC-over-RDMA, the transport of NFS/RDMA, in captures, recordings and running "
      "endpoints.\n\n"
      "Copyright 2026 The rpcrdma-scope maintainers\n"
      "Licence: GNU General Public License, version 2 or later. This program comes without any "
      "warranty.\n\n"
      "It uses Qt %2 (LGPL 3 or GPL), Qt Charts (GPL 3), libpcap (BSD), zlib, xz, bzip2, lz4 and "
      "zstd, RE2 (BSD) and fmt (MIT), as this system provides them.");
  return text.arg(QString::fromUtf8(version.data(), static_cast<qsizetype>(version.size())),
                  QString::fromLatin1(qVersion()));
}

}  // namespace rpcrdma::gui
