//! Paths next to what the real printer makes of them.

use proptest::prelude::*;
use serde_json::json;

use super::super::custom::shown;
use super::*;

fn first(path: &str, object: &Value) -> Option<Value> {
    JsonPath::parse(path).unwrap().first(object).cloned()
}

/// What client-go 0.36.3 found first, as text; a path without `found` leads nowhere.
#[test]
fn recorded_paths_lead_where_they_do_in_kubernetes() {
    let recorded: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
    for case in recorded["cases"].as_array().unwrap() {
        let path = JsonPath::parse(case["path"].as_str().unwrap());
        assert_eq!(path.is_none(), case["is_refused"] == true, "{case}");
        let found = path.as_ref().and_then(|path| path.first(&recorded["object"]));
        assert_eq!(found.map(shown).map_or(Value::Null, Value::from), case["found"], "{case}");
    }
}

#[test]
fn slices_count_from_both_ends() {
    let object = json!({"l": [0, 1, 2, 3]});
    assert_eq!(first(".l[1]", &object), Some(json!(1)));
    assert_eq!(first(".l[-1]", &object), Some(json!(3)));
    assert_eq!(first(".l[-2:]", &object), Some(json!(2)));
    assert_eq!(first(".l[1:4:2]", &object), Some(json!(1)));
    assert_eq!(first(".l[2:2]", &object), None);
    assert_eq!(first(".l[4]", &object), None);
    assert_eq!(first(".l[-9]", &object), None);
}

#[test]
fn filters_compare_values_of_one_type() {
    let object = json!({"l": [{"n": 1, "f": 1.5, "s": "a"}, {"n": 2, "f": 2.5, "s": "b)"}]});
    assert_eq!(first(".l[?(@.n>=2)].s", &object), Some(json!("b)")));
    assert_eq!(first(".l[?(@.f<2.0)].s", &object), Some(json!("a")));
    assert_eq!(first(".l[?(@.s==\"b)\")].n", &object), Some(json!(2)));
    assert_eq!(first(".l[?(@.n==\"2\")].s", &object), None);
    assert_eq!(first(".l[?(@.n=2)].s", &object), None);
    assert_eq!(first(".l[?(@.missing)].s", &object), None);
}

#[test]
fn what_is_no_path_is_refused() {
    for path in [".a[", ".a[x]", ".a[?(@.b]", ".a[?(@.b==\"c)]", ".a....b", ".a{b", ".a[1:2:3:4]", ".a,b"] {
        assert!(JsonPath::parse(path).is_none(), "{path}");
    }
}

#[test]
fn a_path_that_multiplies_ends_without_a_result() {
    let mut object = json!([1]);
    for _ in 0..12 {
        object = json!([object.clone(), object]);
    }
    assert_eq!(first("..[*]..[*]..[*]", &object), None);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(path in "[.a*0-9:,'\"\\[\\]?()@$<>=!{} \\\\-]{0,24}") {
        if let Some(path) = JsonPath::parse(&path) {
            let _ = path.first(&json!({"a": [{"a": 1}, [0, null], "a"]}));
        }
    }

    #[test]
    fn any_text_at_all_is_read_or_refused(path in "\\PC*") {
        let _ = JsonPath::parse(&path);
    }
}
