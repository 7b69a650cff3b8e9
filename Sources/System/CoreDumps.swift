import CSystem

/// Core dumps, which would contain the credentials.
package enum CoreDumps {
    /// Call this first in the process. Returns false when the system refuses.
    @discardableResult
    package static func forbid() -> Bool {
        sluice_forbid_dumps() == 0
    }
}
