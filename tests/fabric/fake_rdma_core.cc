#include "fake_rdma_core.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

namespace rpcrdma::testing {
namespace {

// A descriptor that is readable while there are news.
class Bell {
 public:
  Bell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE)) {}
  ~Bell() { (void)::close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void ring() const { (void)::eventfd_write(fd_, 1); }
  [[nodiscard]] bool take() const {
    eventfd_t value = 0;
    return ::eventfd_read(fd_, &value) == 0;
  }

 private:
  int fd_;
};

struct CompletionChannel : ibv_comp_channel {
  CompletionChannel() : ibv_comp_channel{} { fd = bell.fd(); }
  Bell bell;
  std::deque<ibv_cq*> events;
};

struct CompletionQueue : ibv_cq {
  CompletionQueue() : ibv_cq{} {}
  std::deque<ibv_wc> done;
  bool armed = false;

  void push(const ibv_wc& wc) {
    done.push_back(wc);
    if (!armed) return;
    armed = false;
    auto* const to = static_cast<CompletionChannel*>(channel);
    to->events.push_back(this);
    to->bell.ring();
  }
};

struct Receive {
  std::uint64_t id = 0;
  std::vector<ibv_sge> slices;
};

struct QueuePair : ibv_qp {
  QueuePair() : ibv_qp{} {}
  QueuePair* peer = nullptr;
  std::deque<Receive> receives;
  std::uint32_t most_inline = 0;

  void complete(ibv_cq* queue, std::uint64_t id, ibv_wc_opcode opcode, std::size_t bytes = 0,
                std::uint32_t invalidated = 0) const {
    ibv_wc wc{};
    wc.wr_id = id;
    wc.opcode = opcode;
    wc.qp_num = qp_num;
    wc.byte_len = static_cast<std::uint32_t>(bytes);
    if (invalidated != 0) wc.wc_flags = IBV_WC_WITH_INV;
    wc.invalidated_rkey = invalidated;
    static_cast<CompletionQueue*>(queue)->push(wc);
  }
};

struct CmNews : rdma_cm_event {
  CmNews() : rdma_cm_event{} {}
  std::vector<std::uint8_t> data;
};

struct CmChannel : rdma_event_channel {
  CmChannel() : rdma_event_channel{} { fd = bell.fd(); }
  Bell bell;
  std::deque<std::unique_ptr<CmNews>> news;
};

struct CmId : rdma_cm_id {
  CmId() : rdma_cm_id{} {}
  std::uint16_t port = 0;
  CmId* peer = nullptr;
  bool ended = false;

  CmNews& report(rdma_cm_event_type type, const rdma_conn_param* param = nullptr) {
    auto* const to = static_cast<CmChannel*>(channel);
    CmNews& fresh = *to->news.emplace_back(std::make_unique<CmNews>());
    fresh.id = this;
    fresh.event = type;
    if (param != nullptr) {
      fresh.param.conn = *param;
      const auto* const data = static_cast<const std::uint8_t*>(param->private_data);
      if (data != nullptr) fresh.data.assign(data, data + param->private_data_len);
      fresh.param.conn.private_data = fresh.data.data();
    }
    to->bell.ring();
    return fresh;
  }
};

struct Region {
  std::uint8_t* data = nullptr;
  std::size_t length = 0;
};

struct Fake {
  Fake() {
    context.device = &device;
    context.async_fd = none.fd();
    context.ops.post_send = &Fake::post_send;
    context.ops.post_recv = &Fake::post_receive;
    context.ops.poll_cq = &Fake::poll;
    context.ops.req_notify_cq = [](ibv_cq* queue, int) {
      ++fake().counts.armed;
      static_cast<CompletionQueue*>(queue)->armed = true;
      return 0;
    };
    context.ops.alloc_mw = [](ibv_pd* domain, ibv_mw_type type) {
      return new ibv_mw{domain->context, domain, fake().next_key(), 0, type};
    };
    context.ops.dealloc_mw = [](ibv_mw* window) {
      fake().regions.erase(window->rkey);
      delete window;
      return 0;
    };
  }
  static Fake& fake() {
    static Fake one;
    return one;
  }

  // The lower byte of a window's handle changes with each binding.
  std::uint32_t next_key() { return ++keys << 8U; }

  std::uint8_t* access(const ibv_send_wr& wr, std::size_t bytes) {
    const auto found = regions.find(wr.wr.rdma.rkey);
    auto* const at = reinterpret_cast<std::uint8_t*>(wr.wr.rdma.remote_addr);
    const bool allowed = found != regions.end() && at >= found->second.data &&
                         at + bytes <= found->second.data + found->second.length;
    if (allowed) return at;
    ++counts.refused;
    return nullptr;
  }

  void message(QueuePair& from, const ibv_send_wr& wr, const std::vector<std::uint8_t>& bytes) {
    QueuePair* const to = from.peer;
    if (to == nullptr || to->receives.empty()) {
      ++counts.unready;
      return;
    }
    const Receive into = std::move(to->receives.front());
    to->receives.pop_front();
    std::size_t at = 0;
    for (const ibv_sge& s : into.slices) {
      const std::size_t n = std::min<std::size_t>(s.length, bytes.size() - at);
      if (n != 0) std::memcpy(reinterpret_cast<void*>(s.addr), bytes.data() + at, n);
      at += n;
    }
    std::uint32_t invalidated = 0;
    if (wr.opcode == IBV_WR_SEND_WITH_INV) {
      invalidated = wr.invalidate_rkey;
      if (regions.erase(invalidated) == 0) ++counts.refused;
      ++counts.remote_invalidations;
    }
    to->complete(to->recv_cq, into.id, IBV_WC_RECV, bytes.size(), invalidated);
  }

  void execute(QueuePair& from, const ibv_send_wr& wr) {
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < wr.num_sge; ++i) {
      const auto* const at = reinterpret_cast<const std::uint8_t*>(wr.sg_list[i].addr);
      bytes.insert(bytes.end(), at, at + wr.sg_list[i].length);
    }
    switch (wr.opcode) {
      case IBV_WR_SEND:
      case IBV_WR_SEND_WITH_INV:
        message(from, wr, bytes);
        break;
      case IBV_WR_RDMA_WRITE:
        if (auto* const to = access(wr, bytes.size()); to != nullptr && !bytes.empty()) {
          std::memcpy(to, bytes.data(), bytes.size());
        }
        break;
      case IBV_WR_RDMA_READ:
        if (const auto* data = access(wr, bytes.size()); data != nullptr) {
          for (int i = 0; i < wr.num_sge; data += wr.sg_list[i++].length) {
            std::memcpy(reinterpret_cast<void*>(wr.sg_list[i].addr), data, wr.sg_list[i].length);
          }
        }
        break;
      case IBV_WR_BIND_MW:
        ++counts.binds;
        regions[wr.bind_mw.rkey] = {reinterpret_cast<std::uint8_t*>(wr.bind_mw.bind_info.addr),
                                    wr.bind_mw.bind_info.length};
        break;
      case IBV_WR_LOCAL_INV:
        ++counts.invalidations;
        if (regions.erase(wr.invalidate_rkey) == 0) ++counts.refused;
        break;
      default:
        ++counts.refused;
    }
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) ++counts.copied;
    if ((wr.send_flags & IBV_SEND_SIGNALED) == 0) return;
    ++counts.signaled;
    from.complete(from.send_cq, wr.wr_id, IBV_WC_SEND);
  }

  static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** /*bad*/) {
    ++fake().counts.send_posts;
    for (; wr != nullptr; wr = wr->next) {
      ++fake().counts.send_requests;
      fake().execute(*static_cast<QueuePair*>(qp), *wr);
    }
    return 0;
  }
  static int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** /*bad*/) {
    ++fake().counts.receive_posts;
    for (; wr != nullptr; wr = wr->next) {
      ++fake().counts.receive_requests;
      static_cast<QueuePair*>(qp)->receives.push_back(
          {wr->wr_id, {wr->sg_list, wr->sg_list + wr->num_sge}});
    }
    return 0;
  }
  static int poll(ibv_cq* queue, int most, ibv_wc* out) {
    auto& done = static_cast<CompletionQueue*>(queue)->done;
    int n = 0;
    for (; n < most && !done.empty(); ++n, done.pop_front()) out[n] = done.front();
    fake().counts.completions += static_cast<std::uint64_t>(n);
    return n;
  }

  ibv_device device{};
  ibv_context context{};
  Bell none;  // never rings
  FakeCounts counts;
  std::uint32_t keys = 0, queue_pairs = 0;
  std::map<std::uint32_t, Region> regions;  // by remote key
  std::map<std::uint16_t, CmId*> listeners;
};

int refuse(int error) {
  errno = error;
  return -1;
}

void set(sockaddr_storage& to, const sockaddr* from) {
  std::memcpy(&to, from, from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

}  // namespace

const FakeCounts& fake_counts() {
  return Fake::fake().counts;
}

}  // namespace rpcrdma::testing

using namespace rpcrdma::testing;  // NOLINT: these functions are C's

extern "C" {

// ----- librdmacm

rdma_event_channel* rdma_create_event_channel() {
  return new CmChannel;
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  delete static_cast<CmChannel*>(channel);
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space ps) {
  auto* const made = new CmId;
  made->channel = channel;
  made->context = context;
  made->ps = ps;
  *id = made;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* given) {
  auto* const id = static_cast<CmId*>(given);
  if (id->peer != nullptr) id->peer->peer = nullptr;
  std::erase_if(Fake::fake().listeners, [&](const auto& l) { return l.second == id; });
  auto* const channel = static_cast<CmChannel*>(id->channel);
  for (auto& news : channel->news) {
    if (news->id == id) news->id = nullptr;
  }
  delete id;
  return 0;
}
int rdma_bind_addr(rdma_cm_id* given, sockaddr* address) {
  auto* const id = static_cast<CmId*>(given);
  id->verbs = &Fake::fake().context;
  id->port_num = 1;
  set(id->route.addr.src_storage, address);
  id->port = ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
  return 0;
}
int rdma_listen(rdma_cm_id* given, int /*backlog*/) {
  auto* const id = static_cast<CmId*>(given);
  return Fake::fake().listeners.emplace(id->port, id).second ? 0 : refuse(EADDRINUSE);
}
int rdma_resolve_addr(rdma_cm_id* given, sockaddr* /*from*/, sockaddr* to, int /*timeout*/) {
  set(given->route.addr.dst_storage, to);
  static_cast<CmId*>(given)->report(RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}
int rdma_resolve_route(rdma_cm_id* id, int /*timeout*/) {
  static_cast<CmId*>(id)->report(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}
int rdma_create_qp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  auto* const made = new QueuePair;
  made->context = id->verbs;
  made->pd = domain;
  made->send_cq = attributes->send_cq;
  made->recv_cq = attributes->recv_cq;
  made->qp_num = ++Fake::fake().queue_pairs;
  id->qp = made;
  return 0;
}
void rdma_destroy_qp(rdma_cm_id* id) {
  auto* const own = static_cast<QueuePair*>(id->qp);
  if (own->peer != nullptr) own->peer->peer = nullptr;
  delete own;
  id->qp = nullptr;
}
int rdma_connect(rdma_cm_id* given, rdma_conn_param* param) {
  auto* const id = static_cast<CmId*>(given);
  const std::uint16_t port =
      ntohs(reinterpret_cast<const sockaddr_in*>(&id->route.addr.dst_storage)->sin_port);
  const auto found = Fake::fake().listeners.find(port);
  if (found == Fake::fake().listeners.end()) {
    id->report(RDMA_CM_EVENT_REJECTED).status = 28;
    return 0;
  }
  auto* const request = new CmId;
  request->channel = found->second->channel;
  request->verbs = id->verbs;
  request->route.addr.src_storage = id->route.addr.dst_storage;
  request->route.addr.dst_storage = id->route.addr.src_storage;
  request->peer = id;
  id->peer = request;
  request->report(RDMA_CM_EVENT_CONNECT_REQUEST, param).listen_id = found->second;
  return 0;
}
int rdma_accept(rdma_cm_id* given, rdma_conn_param* param) {
  auto* const id = static_cast<CmId*>(given);
  if (id->peer == nullptr) return refuse(ENOTCONN);
  auto* const own = static_cast<QueuePair*>(id->qp);
  auto* const other = static_cast<QueuePair*>(id->peer->qp);
  own->peer = other;
  other->peer = own;
  id->report(RDMA_CM_EVENT_ESTABLISHED);
  id->peer->report(RDMA_CM_EVENT_ESTABLISHED, param);
  return 0;
}
int rdma_reject(rdma_cm_id* given, const void* data, std::uint8_t length) {
  auto* const id = static_cast<CmId*>(given);
  if (id->peer == nullptr) return 0;
  rdma_conn_param param{};
  param.private_data = data;
  param.private_data_len = length;
  id->peer->report(RDMA_CM_EVENT_REJECTED, &param).status = 28;
  return 0;
}
int rdma_disconnect(rdma_cm_id* given) {
  auto* const id = static_cast<CmId*>(given);
  for (CmId* const end : {id, id->peer}) {
    if (end == nullptr || std::exchange(end->ended, true)) continue;
    end->report(RDMA_CM_EVENT_DISCONNECTED);
  }
  return 0;
}
int rdma_get_cm_event(rdma_event_channel* given, rdma_cm_event** event) {
  auto* const channel = static_cast<CmChannel*>(given);
  while (channel->bell.take()) {
    std::unique_ptr<CmNews> news = std::move(channel->news.front());
    channel->news.pop_front();
    if (news->id == nullptr) continue;  // it was destroyed
    *event = news.release();
    return 0;
  }
  return refuse(EAGAIN);
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  delete static_cast<CmNews*>(event);
  return 0;
}
int rdma_set_option(rdma_cm_id* /*id*/, int /*level*/, int /*option*/, void* /*value*/,
                    std::size_t /*length*/) {
  return 0;
}
int rdma_notify(rdma_cm_id* /*id*/, ibv_event_type /*event*/) {
  return 0;
}

// ----- libibverbs

const char* ibv_get_device_name(ibv_device* /*device*/) {
  return "rxe0";
}
int ibv_query_device(ibv_context* /*context*/, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->vendor_id = 0x02c9;
  attributes->device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  attributes->max_mw = 1 << 16;
  attributes->max_qp_wr = 1 << 14;
  attributes->max_cqe = 1 << 16;
  attributes->max_sge = attributes->max_sge_rd = 30;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
  return 0;
}
// The provider calls the inline function of this name, which calls this one with the first members.
int ibv_query_port(ibv_context* /*context*/, std::uint8_t /*port*/, _compat_ibv_port_attr* given) {
  auto* const attributes = reinterpret_cast<ibv_port_attr*>(given);
  attributes->state = IBV_PORT_ACTIVE;
  attributes->max_msg_sz = 1U << 30;
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return new ibv_pd{context, 0};
}
int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}
ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* const made = new CompletionChannel;
  made->context = context;
  return made;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  delete static_cast<CompletionChannel*>(channel);
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int places, void* own, ibv_comp_channel* channel,
                      int /*vector*/) {
  auto* const made = new CompletionQueue;
  made->context = context;
  made->cq_context = own;
  made->channel = channel;
  made->cqe = places;
  return made;
}
int ibv_destroy_cq(ibv_cq* queue) {
  delete static_cast<CompletionQueue*>(queue);
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel* given, ibv_cq** queue, void** context) {
  auto* const channel = static_cast<CompletionChannel*>(given);
  ++Fake::fake().counts.event_reads;
  if (!channel->bell.take()) return refuse(EAGAIN);
  *queue = channel->events.front();
  *context = (*queue)->cq_context;
  channel->events.pop_front();
  return 0;
}
void ibv_ack_cq_events(ibv_cq* /*queue*/, unsigned /*events*/) {}
int ibv_get_async_event(ibv_context* /*context*/, ibv_async_event* /*event*/) {
  return refuse(EAGAIN);
}
void ibv_ack_async_event(ibv_async_event* /*event*/) {}
int ibv_query_qp(ibv_qp* given, ibv_qp_attr* attributes, int /*mask*/, ibv_qp_init_attr* initial) {
  auto* const qp = static_cast<QueuePair*>(given);
  *attributes = {};
  *initial = {};
  attributes->dest_qp_num = qp->peer == nullptr ? 0 : qp->peer->qp_num;
  return 0;
}
int ibv_modify_qp(ibv_qp* /*qp*/, ibv_qp_attr* /*attributes*/, int /*mask*/) {
  return 0;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* data, std::size_t length, std::uint64_t /*iova*/,
                         unsigned access) {
  Fake& f = Fake::fake();
  ++f.counts.registered;
  const std::uint32_t key = f.next_key();
  if ((access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)) != 0) {
    f.regions[key] = {static_cast<std::uint8_t*>(data), length};
  }
  return new ibv_mr{domain->context, domain, data, length, 0, key, key};
}
ibv_mr* ibv_reg_mr(ibv_pd* domain, void* data, std::size_t length, int access) {
  return ibv_reg_mr_iova2(domain, data, length, 0, static_cast<unsigned>(access));
}
int ibv_dereg_mr(ibv_mr* memory) {
  Fake& f = Fake::fake();
  ++f.counts.deregistered;
  f.regions.erase(memory->rkey);
  delete memory;
  return 0;
}

}  // extern "C"
