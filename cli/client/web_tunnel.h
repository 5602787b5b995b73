#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/os/unique_fd.h"
#include "base/result.h"
#include "service/security/client_stream.h"

namespace rm {

// A loopback port through which a browser reaches a controller's page with the credentials of the
// command line: each request goes on with the token, over the connection with the certificate, and
// the answer comes back byte for byte. A request needs the cookie that the first address of the
// tunnel, which has a secret, sets: other users of this machine, and pages of other sites, do not
// have it.
class WebTunnel {
public:
    // `port` 0: any free one.
    static Result<std::unique_ptr<WebTunnel>> start(int port, HostPort controller,
                                                    ClientSecurity security);
    ~WebTunnel();  // ends every connection

    int port() const { return port_; }
    std::string address() const;  // what the browser opens

private:
    struct Passage {
        UniqueFd browser;
        std::mutex mutex;
        std::unique_ptr<ClientStream> server;
        std::atomic<bool> done = false;
        std::thread thread;
    };

    WebTunnel(UniqueFd listener, int port, HostPort controller, ClientSecurity security);
    void accept();
    void serve(Passage& passage);
    bool is_ours(const std::string& head) const;
    Result<std::string> with_credential(const std::string& head) const;
    Status connect(Passage& passage) const;
    void drop_ended();

    const UniqueFd listener_;
    const int port_;
    const HostPort controller_;
    const ClientSecurity security_;
    const std::string secret_;
    std::mutex mutex_;
    std::list<Passage> passages_;
    std::thread thread_;
};

}  // namespace rm
