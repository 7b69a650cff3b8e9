import CSystem
import Glibc

/// Core dumps, which would contain the credentials.
package enum CoreDumps {
    /// Call this first in the process. Returns false when the system refuses.
    @discardableResult
    package static func forbid() -> Bool {
        sluice_forbid_dumps() == 0
    }
}

/// The process's limit of open descriptors.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit and returns the limit in force.
    ///
    /// The soft limit is 1,024 on most systems, for programs that use `select`.
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = raised.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 {
                limit = raised
            }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
