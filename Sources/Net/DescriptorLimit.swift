import Glibc

/// How many descriptors the process may have open.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard one and returns what holds then.
    ///
    /// The soft limit is 1,024 on most systems, for the sake of programs that use `select`.
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
