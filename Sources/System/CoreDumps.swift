import CSystem

/// What the kernel writes of a process that crashes would hold its keys.
package enum CoreDumps {
    /// To be called first. False when the system does not let itself be told.
    @discardableResult
    package static func forbid() -> Bool {
        sluice_forbid_dumps() == 0
    }
}
