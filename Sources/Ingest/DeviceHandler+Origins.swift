import HTTP
import System

extension DeviceHandler {
    func checkPreflight(_ head: RequestHead, _ route: DeviceRoute) throws(Refusal) {
        keys.refresh()
        try keys.value.origins.check(head, route.label)
    }

    /// Who may read the answer to a request, in the words of browsers.
    func crossOrigin(_ head: RequestHead?) -> CrossOrigin {
        keys.refresh()
        return keys.value.origins.answer(to: head)
    }
}
